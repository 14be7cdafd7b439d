import { createRequire } from "node:module";
import { join } from "node:path";

/** Loads a package of this project, which `npm run test:package` installs. */
export const requireTool = createRequire(join(import.meta.dir, "package.json"));

/** The path of a file in a package of this project. */
export function tool(file: string): string {
  return join(import.meta.dir, "node_modules", file);
}
