import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endAll } from "./process.ts";

/** Runs `work` with a temporary folder. Afterwards, and on SIGINT, SIGTERM and SIGHUP, ends all started processes and removes the folder. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "storefront-bench-"));
  const cleanUp = async () => {
    await endAll();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const signals = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };
  for (const [name, number] of Object.entries(signals)) {
    process.once(name, () => void cleanUp().finally(() => process.exit(128 + number)));
  }
  try {
    return await work(folder);
  } finally {
    await cleanUp();
  }
}
