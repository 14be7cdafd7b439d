// State that the browser remembers for an operator and a site.

import { useCallback, useMemo, useSyncExternalStore } from "react";
import { useSession, useSiteInfo } from "./site-context.ts";

/** Values that the browser couldn't store. They're lost with the page. */
const unstored = new Map<string, string>();
const listeners = new Set<() => void>();

/** Values whose JSON is longer than this many characters are neither stored nor read. */
const maxLength = 65_536;

/**
 * State that the browser remembers for the page's operator and site. All components that use the same name share it, even in other tabs.
 * @param name unique among all such state
 * @param first the value until the operator chooses another one
 * @param isValid whether a stored value can be used; by default, whether it has the type of `first`. Lists of objects need their own check
 */
export function useStored<T>(
  name: string,
  first: T,
  isValid: (value: unknown) => boolean = (value) => isLike(value, first),
): [value: T, set: (value: T) => void] {
  return useStoredAt(`storefront:${useSession().id}:${useSiteInfo().id}:${name}`, first, isValid);
}

function useStoredAt<T>(key: string, first: T, isValid: (value: unknown) => boolean): [T, (value: T) => void] {
  const text = useSyncExternalStore(subscribe, () => read(key));
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another text is another value; the first value may be a new object each time
  const value = useMemo(() => parse<T>(text, isValid) ?? first, [key, text]);
  const set = useCallback((changed: T) => write(key, JSON.stringify(changed)), [key]);
  return [value, set];
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

function read(key: string): string | undefined {
  try {
    return unstored.get(key) ?? localStorage.getItem(key) ?? undefined;
  } catch {
    return unstored.get(key);
  }
}

function write(key: string, text: string): void {
  unstored.set(key, text);
  try {
    if (text.length <= maxLength) {
      localStorage.setItem(key, text);
      unstored.delete(key);
    }
  } catch {
    // The browser refuses to store anything. The value is still in `unstored`.
  }
  for (const listener of [...listeners]) listener();
}

function parse<T>(text: string | undefined, isValid: (value: unknown) => boolean): T | undefined {
  if (text === undefined || text.length > maxLength) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isValid(value) ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether a value has the same type as an example. List items must have the type of the example's first item; if the example is empty, they must be
 * strings.
 */
function isLike(value: unknown, example: unknown): boolean {
  if (Array.isArray(example)) return Array.isArray(value) && value.every((item) => isLike(item, example[0] ?? ""));
  if (typeof example !== "object" || example === null) return typeof value === typeof example;
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(example).every(([name, part]) => isLike((value as Record<string, unknown>)[name], part));
}
