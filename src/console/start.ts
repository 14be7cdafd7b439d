// Runs while the rest of the console is still being loaded, and already sends the first reads.

import { readAhead } from "./api/call-api.ts";

// A sign-in link comes first. If a read fails, it's repeated when its response is needed.
if (!location.hash.startsWith("#sign-in=")) readAhead().catch(() => {});
