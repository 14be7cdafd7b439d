// The query of the page's address, such as `#/shop/brands?search=oak&page=2`: what a list shows, so that a person can share it, reload it, and go back.

import { useCallback, useMemo } from "react";
import { useLocation, useNavigate } from "./router.tsx";

/** Changes parameters of the address. An empty or missing value removes the parameter. */
type ChangeAddress = (changes: Readonly<Record<string, string | undefined>>, how?: "push" | "replace") => void;

/**
 * Returns the parameters of the address, and a function that changes some of them and keeps the others. With `push`, the back button of the browser
 * returns to the former ones: use it for another page of a list or another view. By default, the former ones are replaced: use that while a person
 * types.
 */
export function useAddress(): [parameters: URLSearchParams, change: ChangeAddress] {
  const { search } = useLocation();
  const navigate = useNavigate();
  const parameters = useMemo(() => new URLSearchParams(search), [search]);
  const change = useCallback<ChangeAddress>(
    (changes, how = "replace") => {
      // Read the address now, because two changes may follow each other before the page is rendered again.
      const next = new URLSearchParams(presentQuery());
      for (const [name, value] of Object.entries(changes)) {
        if (value) next.set(name, value);
        else next.delete(name);
      }
      const query = next.toString();
      navigate({ search: query === "" ? "" : `?${query}` }, { replace: how === "replace" });
    },
    [navigate],
  );
  return [parameters, change];
}

function presentQuery(): string {
  const { hash } = location;
  const start = hash.indexOf("?");
  return start < 0 ? "" : hash.slice(start);
}
