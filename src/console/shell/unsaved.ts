// Tracks forms with unsaved changes, and the action that waits until the operator agrees to lose them (frame/access-notices.tsx asks). Also handles
// the keys that save or undo edits.

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { SharedValue, useSharedValue } from "../api/shared-value.ts";

interface Unsaved {
  /** Changes are kept while this path or one below it is shown. */
  readonly within?: string;
  /** The number of changes, if the page counts them. */
  readonly count?: number;
}

const edited = new Map<object, Unsaved>();
const waiting = new SharedValue<(() => void) | undefined>(undefined);

/** Reports whether a form has unsaved changes. @returns a function that marks the form as saved; call it before leaving the page */
export function useUnsaved(isEdited: boolean, { within, count }: Unsaved = {}): () => void {
  const [form] = useState(() => ({}));
  const markSaved = useCallback(() => remove(form), [form]);
  // Must take effect immediately, because the next key may be Escape.
  useLayoutEffect(() => {
    if (!isEdited) return;
    edited.set(form, { within, count });
    // Only while it's needed, because it keeps browsers from caching the page for the back button.
    window.addEventListener("beforeunload", onUnload);
    return markSaved;
  }, [isEdited, form, markSaved, within, count]);
  return markSaved;
}

export function isSaveKey({ key, ctrlKey, metaKey, shiftKey, altKey }: KeyPress): boolean {
  return key.toLowerCase() === "s" && (ctrlKey || metaKey) && !shiftKey && !altKey;
}

type KeyPress = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">;

interface KeyActions {
  readonly onTakeBack: () => void;
  readonly onSave: () => void;
}

/** Listens for Ctrl+S, and for Ctrl+Z outside inputs, which have their own undo. Dialogs and forms over the page handle their own keys. */
export function useEditKeys(actions: KeyActions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const target = event.target as Element;
      const isTakeBack = event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey;
      if (target.closest(".MuiModal-root") || (!isTakeBack && !isSaveKey(event))) return;
      if (isTakeBack && target.closest("input:not([type=checkbox]), textarea, select")) return;
      event.preventDefault();
      if (isTakeBack) latest.current.onTakeBack();
      else latest.current.onSave();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}

/** Whether a form's values have changed since the first render. @param values must be serializable as JSON */
export function useEdited(values: unknown): boolean {
  const text = JSON.stringify(values);
  const [first] = useState(text);
  return text !== first;
}

/** Whether a form has unsaved changes. @param path the page to go to; by default, assumes that every page is left */
export function hasUnsaved(path?: string): boolean {
  return [...edited.values()].some(({ within }) => isLost(within, path));
}

/** Returns the number of unsaved changes, or 0 if it isn't known: several forms have some, or the only one doesn't count them. */
export function countUnsaved(): number {
  const [first, ...others] = edited.values();
  return others.length === 0 ? (first?.count ?? 0) : 0;
}

/** Marks all forms that would be left as saved, once the operator has agreed to lose their changes. @param path as for `hasUnsaved` */
export function markAllSaved(path?: string): void {
  for (const [form, { within }] of [...edited]) if (isLost(within, path)) remove(form);
}

function isLost(within: string | undefined, path: string | undefined): boolean {
  return within === undefined || path === undefined || (path !== within && !path.startsWith(`${within}/`));
}

/** Runs an action that would lose unsaved changes, once the operator agrees. Runs it at once if nothing is unsaved. */
export function askBeforeLoss(act: () => void): void {
  if (hasUnsaved()) waiting.set(act);
  else act();
}

/** Returns the action that waits for the operator to agree, if any. */
export function useWaitingAction(): (() => void) | undefined {
  return useSharedValue(waiting);
}

/** Forgets the waiting action, because the operator didn't agree. */
export function discardWaitingAction(): void {
  waiting.set(undefined);
}

function remove(form: object): void {
  edited.delete(form);
  if (edited.size === 0) window.removeEventListener("beforeunload", onUnload);
}

function onUnload(event: BeforeUnloadEvent): void {
  event.preventDefault();
}
