// Runs while the rest of the console is still loading. It sends the first reads, and loads the page's script unless it's a list. Otherwise, the
// browser would only find out about these once the main script has run.

import { readAhead } from "./api/call-api.ts";

const [, page = ""] = /^#\/[^/?]*\/([^/?]*)/.exec(location.hash) ?? [];
// A sign-in link comes first.
const isList = location.hash.startsWith("#sign-in=") ? Promise.resolve(false) : readAhead(page);
if (page === "") import("./frame/overview-parts.ts").catch(() => {});
// If any of these fails, it's repeated when it's needed.
isList
  .then(async (isOne) => {
    if (!isOne && page !== "") await import("./frame/settings-parts.ts");
  })
  .catch(() => {});
