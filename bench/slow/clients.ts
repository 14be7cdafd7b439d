// Starts clients that are slow in one way, in a process of their own (clients.mjs).

import { join } from "node:path";
import { startLineClient } from "../process.ts";

/** In which way the clients are slow; clients.mjs says what each does. */
export type SlowKind = "unread" | "stopped" | "slow" | "half" | "whole";

/** What the clients have received. */
export interface Received {
  /** Connections that ended with an error. */
  readonly failures: number;
  readonly bytes: number;
  /** Clients that have received a response to its end. */
  readonly complete: number;
  /** Clients that have received the status 200. */
  readonly ok: number;
}

export interface SlowClients {
  counts(): Promise<Received>;
  /** Lets the clients read everything. Returns when no more arrives. */
  readAll(): Promise<Received>;
  stop(): Promise<void>;
}

export interface SlowOptions {
  readonly url: string;
  /** The name of the site's host. */
  readonly host: string;
  readonly key: string;
  readonly kind: SlowKind;
  readonly count: number;
  readonly path: string;
}

/** Starts `count` clients. Returns when all have sent their requests. @throws Error if their process ends */
export async function startSlowClients({ url, host, key, kind, count, path }: SlowOptions): Promise<SlowClients> {
  const script = join(import.meta.dir, "clients.mjs");
  const command = ["node", script, new URL(url).port, host, key, kind, String(count), path];
  const client = await startLineClient(command);
  return { counts: () => client.ask("counts"), readAll: () => client.ask("read"), stop: client.stop };
}
