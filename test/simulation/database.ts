import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../src/model/engine.ts";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import { simulatedClock } from "./simulate.ts";

/** In memory where that is possible: a simulation kills no real process, and the disk would take most of the time. */
const parent = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** Runs `work` on a new database whose leases end by the simulated clock. */
export async function withSimulatedEngine<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(parent, "storefront-simulation-"));
  try {
    const engine = await openEngine(`sqlite:${join(folder, "test.db")}`, allResources, { clock: simulatedClock.now });
    try {
      return await work(engine);
    } finally {
      await engine.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
