// Folders that take seconds to make, such as an unpacked browser, and are kept for later runs. Several processes may make the same one at once, so each fills
// a folder of its own and renames it. No process ever sees an incomplete one.

import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";

/** Makes a folder next to `whole` that every user may enter. */
export function newPart(whole: string): string {
  const part = mkdtempSync(`${whole}-`);
  chmodSync(part, 0o755);
  return part;
}

/** Renames `made`, which is `part` or inside it, to `whole`, unless another process was faster. Removes what's left of `part`. */
export function putInPlace(part: string, whole: string, made = part): void {
  try {
    renameSync(made, whole);
  } catch (error) {
    if (!existsSync(whole)) throw error;
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
}
