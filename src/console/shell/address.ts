// The query of the page's address, such as `#/shop/brands?search=oak&page=2`: what a list shows, so that a person can share it, reload it, and go back.

import { useMemo } from "react";
import { navigate, useLocation } from "./router.tsx";

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
