// Folders that take seconds to make, such as an unpacked browser. They remain for later runs. Several processes may make
// the same folder at the same time: each process fills another folder, and then renames it. So no process ever sees an incomplete folder.

import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";

/** A new folder beside `whole` that every user may enter. */
export function newPart(whole: string): string {
  const part = mkdtempSync(`${whole}-`);
  chmodSync(part, 0o755);
  return part;
}

/** Renames `made`, which is `part` or in it, to `whole`, unless another process was faster. Removes what remains of `part`. */
export function putInPlace(part: string, whole: string, made = part): void {
  try {
    renameSync(made, whole);
  } catch (error) {
    if (!existsSync(whole)) throw error;
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
}
