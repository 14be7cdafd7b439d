// Flushes files and folders to durable storage. Flushing a folder makes the names of its new files durable.

import { closeSync, fsyncSync, openSync } from "node:fs";
import { open } from "node:fs/promises";

/** Flushes a file or a folder, without blocking the event loop. @throws Error of the file system */
export async function flushToDisk(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Flushes a file or a folder, and blocks until it is flushed. @throws Error of the file system */
export function flushToDiskSync(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
