// The router. It is a data router of react-router, because only these can ask before a page is left.

import type { ReactNode } from "react";
import { createHashRouter } from "react-router-dom";

type HashRouter = ReturnType<typeof createHashRouter>;

let router: HashRouter | undefined;

/** Returns the router. The first call creates it, after the sign-in link was removed from the address. @param page the component for every address */
export function openRouter(page: ReactNode): HashRouter {
  if (router) return router;
  let index = indexOfEntry() ?? 0;
  // The router numbers the entries of the browser's history, and uses the numbers to go back when the operator stays on a page. An address that the
  // operator types creates an entry without a number. This listener is registered before that of the router, so it can add the number in time.
  window.addEventListener("popstate", () => {
    const found = indexOfEntry();
    if (found === undefined) history.replaceState({ ...history.state, idx: index + 1 }, "");
  });
  router = createHashRouter([{ path: "*", element: page }]);
  router.subscribe(() => {
    index = indexOfEntry() ?? index;
  });
  return router;
}

/** Returns the number of the present entry of the browser's history. */
function indexOfEntry(): number | undefined {
  return history.state?.idx;
}
