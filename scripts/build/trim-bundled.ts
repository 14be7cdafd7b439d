// Before `npm pack`: deletes the tests of a bundled dependency. npm packs bundled dependencies whole, and these tests were a third of the package.

import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

rmSync(fileURLToPath(new URL("../../node_modules/bintrees/test", import.meta.url)), { recursive: true, force: true });
