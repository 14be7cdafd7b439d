// A PostgreSQL server that's replaced by another machine without its last commits.

import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { standbyData } from "./data.ts";
import { startPostgres, type TestPostgres } from "./server.ts";

export interface LossyPostgres extends TestPostgres {
  /** Saves the current data for the other machine. Disconnects all clients. */
  keep(): Promise<void>;
  /** Loses the machine and everything committed since `keep`. The other one takes over at the same address. */
  failOver(): Promise<void>;
}

export async function startLossyPostgres(): Promise<LossyPostgres> {
  const server = await startPostgres();
  const data = join(server.folder, "data");
  const other = mkdtempSync(join(dirname(server.folder), "storefront-pg-"));
  return {
    ...server,
    async keep() {
      await server.halt();
      standbyData(data, other);
      await server.start();
    },
    async failOver() {
      await server.signal("SIGKILL");
      rmSync(data, { recursive: true, force: true });
      renameSync(join(other, "data"), data);
      await server.start();
      await server.run("select pg_promote()");
    },
    async remove() {
      await server.remove();
      rmSync(other, { recursive: true, force: true });
    },
  };
}
