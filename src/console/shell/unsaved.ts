// Tracks the forms with changes that were not saved, and the action that waits until the operator agrees to lose them. frame/access-notices.tsx asks.

import { useCallback, useLayoutEffect, useState } from "react";
import { SharedValue, useSharedValue } from "../api/shared-value.ts";

const edited = new Set<object>();
const waiting = new SharedValue<(() => void) | undefined>(undefined);

/**
 * Reports whether a form has changes that were not saved.
 * @returns a function that marks the form as saved; call it before the page is left
 */
export function useUnsaved(isEdited: boolean): () => void {
  const [form] = useState(() => ({}));
  const markSaved = useCallback(() => remove(form), [form]);
  // In a layout effect, which runs at once, because the next key may be Escape.
  useLayoutEffect(() => {
    if (!isEdited) return;
    edited.add(form);
    // Only while it is needed, because browsers do not cache a page with such a listener for the back button.
    window.addEventListener("beforeunload", onUnload);
    return markSaved;
  }, [isEdited, form, markSaved]);
  return markSaved;
}

/** Returns whether the values of a form differ from its first values. @param values must be valid for JSON */
export function useEdited(values: unknown): boolean {
  const text = JSON.stringify(values);
  const [first] = useState(text);
  return text !== first;
}

/** Whether a form has changes that were not saved. */
export function hasUnsaved(): boolean {
  return edited.size > 0;
}

/** Marks all forms as saved, after the operator has agreed to lose the changes. */
export function markAllSaved(): void {
  for (const form of [...edited]) remove(form);
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
