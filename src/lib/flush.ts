// Flushes files and folders to durable storage. A new file's name is only durable once its folder is flushed too.

import { closeSync, fsyncSync, openSync } from "node:fs";
import { open } from "node:fs/promises";

/** Flushes a file or folder without blocking the event loop. @throws file system errors */
export async function flushToDisk(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Flushes a file or folder, and blocks until that's done. @throws file system errors */
export function flushToDiskSync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
