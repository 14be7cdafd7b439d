// Tracks the forms with changes that were not saved, and the action that waits until the operator agrees to lose them. frame/access-notices.tsx
// asks. Also has the keys that save edits and take them back.

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { SharedValue, useSharedValue } from "../api/shared-value.ts";

interface Unsaved {
  /** The path of a page that keeps the changes while it, or a page below it, is shown. */
  readonly within?: string;
  /** The number of changes, if the page counts them. */
  readonly count?: number;
}

const edited = new Map<object, Unsaved>();
const waiting = new SharedValue<(() => void) | undefined>(undefined);

/**
 * Reports whether a form has changes that were not saved.
 * @returns a function that marks the form as saved; call it before the page is left
 */
export function useUnsaved(isEdited: boolean, { within, count }: Unsaved = {}): () => void {
  const [form] = useState(() => ({}));
  const markSaved = useCallback(() => remove(form), [form]);
  // In a layout effect, which runs at once, because the next key may be Escape.
  useLayoutEffect(() => {
    if (!isEdited) return;
    edited.set(form, { within, count });
    // Only while it is needed, because browsers do not cache a page with such a listener for the back button.
    window.addEventListener("beforeunload", onUnload);
    return markSaved;
  }, [isEdited, form, markSaved, within, count]);
  return markSaved;
}

/** Whether a key press asks to save, as in a spreadsheet: Ctrl+S. */
export function isSaveKey({ key, ctrlKey, metaKey, shiftKey, altKey }: KeyPress): boolean {
  return key.toLowerCase() === "s" && (ctrlKey || metaKey) && !shiftKey && !altKey;
}

type KeyPress = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">;

interface KeyActions {
  readonly onTakeBack: () => void;
  readonly onSave: () => void;
}

/** Listens for Ctrl+S, and for Ctrl+Z except in an input, which has a Ctrl+Z of its own. Dialogs and forms over the page have keys of their own. */
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

/** Returns whether the values of a form differ from its first values. @param values must be valid for JSON */
export function useEdited(values: unknown): boolean {
  const text = JSON.stringify(values);
  const [first] = useState(text);
  return text !== first;
}

/** Whether a form has changes that were not saved. @param path of the page to go to; by default, every page is left */
export function hasUnsaved(path?: string): boolean {
  return [...edited.values()].some(({ within }) => isLost(within, path));
}

/** Returns the number of changes that are not saved; 0 if several forms have changes, or the only one does not count them. */
export function countUnsaved(): number {
  const [first, ...others] = edited.values();
  return others.length === 0 ? (first?.count ?? 0) : 0;
}

/** Marks all forms that would be left as saved, after the operator has agreed to lose the changes. @param path as in `hasUnsaved` */
export function markAllSaved(path?: string): void {
  for (const [form, { within }] of [...edited]) if (isLost(within, path)) remove(form);
}

function isLost(within: string | undefined, path: string | undefined): boolean {
  return within === undefined || path === undefined || (path !== within && !path.startsWith(`${within}/`));
}

/** Runs an action that would lose unsaved changes: at once if nothing is unsaved, otherwise after the operator has agreed. */
export function askBeforeLoss(act: () => void): void {
  if (hasUnsaved()) waiting.set(act);
  else act();
}

/** Returns the action that waits for the operator's agreement, if any. */
export function useWaitingAction(): (() => void) | undefined {
  return useSharedValue(waiting);
}

/** Discards the waiting action, because the operator did not agree. */
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
