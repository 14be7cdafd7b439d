// The router, of the kind that can ask before a page is left.

import type { ReactNode } from "react";
import { createHashRouter } from "react-router-dom";

type HashRouter = ReturnType<typeof createHashRouter>;

let router: HashRouter | undefined;

/** The router, made when it is first needed: the sign-in link is no longer in the address then. @param page what it shows */
export function openRouter(page: ReactNode): HashRouter {
  if (router) return router;
  let index = indexOfEntry() ?? 0;
  // An address that was typed makes an entry of the browser's history without the number by which the router goes back to where it was
  // asked. This listener is the first one, so the router finds a number.
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

/** The number of the present entry of the browser's history. */
function indexOfEntry(): number | undefined {
  return history.state?.idx;
}
