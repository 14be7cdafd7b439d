// The address of the page and its query, links, and going to another page. The address is after `#`, such as `#/site/brands/7?search=oak`, because the
// server has one page. Nothing here loses changes that were not saved: leaving their page waits until the operator agrees.

import { type AnchorHTMLAttributes, type MouseEvent, type Ref, useMemo } from "react";
import { SharedValue, useSharedValue } from "../api/shared-value.ts";
import { askBeforeLoss, hasUnsaved, markAllSaved } from "./unsaved.ts";

interface Place {
  /** Begins with `/`, and is encoded as in the address. */
  readonly pathname: string;
  /** The empty text, or a text that begins with `?`. */
  readonly search: string;
}

const place = new SharedValue<Place>(placeIn(location.hash));

/** The number of the present entry in the history of the browser. Each entry has one in its state, which tells how far away it is. */
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

/** Where to go: a path, with or without a query; or only a query, for the present path. */
type Destination = string | { readonly search: string };

interface NavigateOptions {
  /** Whether the back button skips the present address. */
  readonly replace?: boolean;
}

/** Goes to another address: `navigate("/garden/keys")`. */
export function navigate(to: Destination, { replace = false }: NavigateOptions = {}): void {
  const next = typeof to === "string" ? placeIn(to) : { ...place.get(), search: to.search };
  const go = () => enter(next, replace);
  if (leavesPage(next)) askToLeave(next, go);
  else go();
}

/** Returns the address, and renders the component again when it changes. */
export function useLocation(): Place {
  return useSharedValue(place);
}

/** Returns the decoded parts of the path: the site, the page, and what the page shows. */
export function usePath(): readonly string[] {
  return useLocation().pathname.split("/").slice(1).map(decoded);
}

/** Decodes a part of the path. A part that is not encoded correctly stays as it is. */
function decoded(part: string): string {
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

/** Leaves the page after the operator has agreed to lose the changes. Some changes may be kept at the next address. */
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

/** Shows an address. Another page begins at its top. */
function show(next: Place): void {
  const pageOf = ({ pathname }: Place) => pathname.split("/", 3).join("/");
  const isOther = pageOf(next) !== pageOf(place.get());
  place.set(next);
  if (isOther) window.scrollTo(0, 0);
}

/** Whether the next `popstate` belongs to `takeBack`. */
let isTakingBack = false;

// The back button of the browser, and addresses that a person types or that other links contain. These have no number yet.
window.addEventListener("popstate", () => {
  const next = placeIn(location.hash);
  const known = numberOfEntry();
  // The browser adds no entry for the same address again.
  const number = known ?? (isSame(next, place.get()) ? index : index + 1);
  const distance = number - index;
  if (known === undefined) history.replaceState({ index: number }, "");
  index = number;
  if (isTakingBack) isTakingBack = false;
  else if (distance !== 0 && leavesPage(next)) takeBack(next, distance);
  else if (known === undefined) show(next);
  else place.set(next);
});

/** Returns to the entry that was left, and goes to the other one again if the operator agrees. */
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

/** A link to another page of the console. The browser follows it itself if it shall open in another tab or window. */
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

/**
 * Returns the parameters of the address, and a function that changes some of them and keeps the others.
 */
export function useAddress(): [parameters: URLSearchParams, change: typeof changeAddress] {
  const { search } = useLocation();
  const parameters = useMemo(() => new URLSearchParams(search), [search]);
  return [parameters, changeAddress];
}

/**
 * Changes parameters of the address. It is always the same function.
 * @param changes an empty or missing value removes the parameter
 * @param how with `push`, the back button of the browser returns to the former ones: use it for another page of a list or another view. By default,
 *   the former ones are replaced: use that while a person types
 */
function changeAddress(changes: Readonly<Record<string, string | undefined>>, how: "push" | "replace" = "replace") {
  // Read the address now, because two changes may follow each other before the page is rendered again.
  const next = new URLSearchParams(/\?.*/.exec(location.hash)?.[0]);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const query = next.toString();
  navigate({ search: query === "" ? "" : `?${query}` }, { replace: how === "replace" });
}
