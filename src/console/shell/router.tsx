// Links, and reading and changing the address. The server has only one page, so the address comes after `#`, such as `#/site/brands/7?search=oak`.
// Unsaved changes are never lost this way: leaving their page waits for the operator to agree.

import { type AnchorHTMLAttributes, type MouseEvent, type Ref, useMemo } from "react";
import { SharedValue, useSharedValue } from "../api/shared-value.ts";
import { askBeforeLoss, hasUnsaved, markAllSaved } from "./unsaved.ts";

interface Place {
  /** Starts with `/`, and is encoded as in the address. */
  readonly pathname: string;
  /** Empty, or starts with `?`. */
  readonly search: string;
}

const place = new SharedValue<Place>(placeIn(location.hash));

/** The number of the current entry in the browser's history. Each entry has one in its state, which shows how far away it is. */
let index = numberOfEntry() ?? 0;

function placeIn(hash: string): Place {
  const [pathname = "", ...rest] = hash.replace(/^#/, "").split("?");
  const search = rest.join("?");
  return { pathname: pathname.startsWith("/") ? pathname : `/${pathname}`, search: search === "" ? "" : `?${search}` };
}

function numberOfEntry(): number | undefined {
  const number = history.state?.index;
  return typeof number === "number" ? number : undefined;
}

/** Where to go: a path, with or without a query, or just a query for the current path. */
type Destination = string | { readonly search: string };

interface NavigateOptions {
  /** Whether the back button skips the current address. */
  readonly replace?: boolean;
}

/** Goes to another address, such as `navigate("/garden/keys")`. */
export function navigate(to: Destination, { replace = false }: NavigateOptions = {}): void {
  const next = typeof to === "string" ? placeIn(to) : { ...place.get(), search: to.search };
  const go = () => enter(next, replace);
  if (leavesPage(next)) askToLeave(next, go);
  else go();
}

/** Returns the address, and re-renders the component when it changes. */
export function useLocation(): Place {
  return useSharedValue(place);
}

/** Returns the decoded parts of the path: the site, the page, and what the page shows. */
export function usePath(): readonly string[] {
  return useLocation().pathname.split("/").slice(1).map(decodePart);
}

/** Decodes part of the path, or returns it unchanged if it isn't encoded correctly. */
function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function isSame(one: Place, other: Place): boolean {
  return one.pathname === other.pathname && one.search === other.search;
}

function leavesPage({ pathname }: Place): boolean {
  return pathname !== place.get().pathname && hasUnsaved(pathname);
}

/** Leaves the page, once the operator agrees to lose unsaved changes. The next address may keep some of them. */
function askToLeave({ pathname }: Place, leave: () => void): void {
  askBeforeLoss(() => {
    markAllSaved(pathname);
    leave();
  });
}

function enter(next: Place, isReplaced: boolean): void {
  const href = `#${next.pathname}${next.search}`;
  if (isReplaced) history.replaceState({ index }, "", href);
  else history.pushState({ index: ++index }, "", href);
  show(next);
}

/** Shows an address. A different page starts scrolled to the top. */
function show(next: Place): void {
  const pageOf = ({ pathname }: Place) => pathname.split("/", 3).join("/");
  const isOther = pageOf(next) !== pageOf(place.get());
  place.set(next);
  if (isOther) window.scrollTo(0, 0);
}

/** Whether the next `popstate` comes from `takeBack`. */
let isTakingBack = false;

// Handles the back button, and addresses that were typed or linked elsewhere, which have no number yet.
window.addEventListener("popstate", () => {
  const next = placeIn(location.hash);
  const known = numberOfEntry();
  // Going to the same address again adds no entry.
  const number = known ?? (isSame(next, place.get()) ? index : index + 1);
  const distance = number - index;
  if (known === undefined) history.replaceState({ index: number }, "");
  index = number;
  if (isTakingBack) isTakingBack = false;
  else if (distance !== 0 && leavesPage(next)) takeBack(next, distance);
  else if (known === undefined) show(next);
  else place.set(next);
});

/** Goes back to the entry that was left, and then forward again if the operator agrees. */
function takeBack(next: Place, distance: number): void {
  isTakingBack = true;
  history.go(-distance);
  askToLeave(next, () => history.go(distance));
}

interface LinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  /** The address, without `#`. */
  readonly to: string;
  readonly ref?: Ref<HTMLAnchorElement>;
}

/** A link to another page of the console. The browser handles it if it opens in a new tab or window. */
export function Link({ to, onClick, ...rest }: LinkProps) {
  function follow(event: MouseEvent<HTMLAnchorElement>) {
    onClick?.(event);
    const { button, metaKey, ctrlKey, shiftKey, altKey } = event;
    if (event.defaultPrevented || button !== 0 || metaKey || ctrlKey || shiftKey || altKey || rest.target) return;
    event.preventDefault();
    navigate(to);
  }
  return <a {...rest} href={`#${to}`} onClick={follow} />;
}

/** Returns the address's parameters, and a function that changes some of them and keeps the rest. */
export function useAddress(): [parameters: URLSearchParams, change: typeof changeAddress] {
  const { search } = useLocation();
  const parameters = useMemo(() => new URLSearchParams(search), [search]);
  return [parameters, changeAddress];
}

/**
 * Changes parameters in the address.
 * @param changes an empty or undefined value removes the parameter
 * @param how by default, the old parameters are replaced, as when typing. With `push`, the back button returns to them, as with another page of a
 * list or another view
 */
function changeAddress(changes: Readonly<Record<string, string | undefined>>, how: "push" | "replace" = "replace") {
  // Read the address again, because two changes may come before the next render.
  const next = new URLSearchParams(/\?.*/.exec(location.hash)?.[0]);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const query = next.toString();
  navigate({ search: query === "" ? "" : `?${query}` }, { replace: how === "replace" });
}
