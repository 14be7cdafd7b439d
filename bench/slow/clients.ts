// Starts slow clients in their own process (clients.mjs).

import { join } from "node:path";
import { startLineClient } from "../process.ts";

/** clients.mjs says what each kind does. */
export type SlowKind = "unread" | "stopped" | "slow" | "half" | "whole";

export interface Received {
  /** Connections that ended with an error. */
  readonly failures: number;
  readonly bytes: number;
  /** Clients that have received a whole response. */
  readonly complete: number;
  /** Clients that got a 200. */
  readonly ok: number;
}

export interface SlowClients {
  counts(): Promise<Received>;
  /** Makes the clients read everything. Returns once nothing more arrives. */
  readAll(): Promise<Received>;
  stop(): Promise<void>;
}

export interface SlowOptions {
  readonly url: string;
  /** The site's hostname. */
  readonly host: string;
  readonly key: string;
  readonly kind: SlowKind;
  readonly count: number;
  readonly path: string;
}

/** Returns once all clients have sent their requests. @throws Error if their process exits */
export async function startSlowClients({ url, host, key, kind, count, path }: SlowOptions): Promise<SlowClients> {
  const script = join(import.meta.dir, "clients.mjs");
  const command = ["node", script, new URL(url).port, host, key, kind, String(count), path];
  const client = await startLineClient(command);
  return { counts: () => client.ask("counts"), readAll: () => client.ask("read"), stop: client.stop };
}
