// Forms with changes that were not saved, and what is to happen once the operator has agreed to lose them. unsaved-guard.tsx asks.

import { useCallback, useLayoutEffect, useState, useSyncExternalStore } from "react";

const edited = new Set<object>();
let asked: (() => void) | undefined;
const listeners = new Set<() => void>();

/**
 * Says whether the form around it has changes that were not saved.
 * @returns a function that forgets them before the page is left, since they were saved
 */
export function useUnsaved(isEdited: boolean): () => void {
  const [form] = useState(() => ({}));
  const forget = useCallback(() => remove(form), [form]);
  // At once: the next key may be Escape.
  useLayoutEffect(() => {
    if (!isEdited) return;
    edited.add(form);
    // Only while it is needed: browsers keep no page with such a listener for the back button.
    window.addEventListener("beforeunload", onUnload);
    return forget;
  }, [isEdited, form, forget]);
  return forget;
}

/** Whether the values of a form, which JSON can have, differ from its first ones. */
export function useEdited(values: unknown): boolean {
  const text = JSON.stringify(values);
  const [first] = useState(text);
  return text !== first;
}

export function hasUnsaved(): boolean {
  return edited.size > 0;
}

/** Forgets all changes: the operator has agreed. */
export function forgetUnsaved(): void {
  for (const form of [...edited]) remove(form);
}

/** Does something that loses what was typed: at once when nothing was, else once the operator has agreed. */
export function askToLose(act: () => void): void {
  if (hasUnsaved()) setAsked(act);
  else act();
}

/** What the operator is asked about; undefined for nothing. */
export function useAsked(): (() => void) | undefined {
  return useSyncExternalStore(subscribe, () => asked);
}

/** The question is settled. */
export function endAsking(): void {
  setAsked(undefined);
}

function remove(form: object): void {
  edited.delete(form);
  if (edited.size === 0) window.removeEventListener("beforeunload", onUnload);
}

function onUnload(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

function setAsked(act: (() => void) | undefined): void {
  asked = act;
  for (const listener of [...listeners]) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
