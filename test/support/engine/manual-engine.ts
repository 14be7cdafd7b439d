// An engine whose calls return when the test says so, to test races.

import type { MaybePromise } from "../../../src/lib/maybe-promise.ts";
import type { Engine } from "../../../src/model/engine.ts";
import type { Head } from "../../../src/model/head.ts";
import type { WholeSite } from "../../../src/store/database/read-all-rows.ts";

/** The engine's calls; `load` reads a whole site. */
interface Calls
  extends Pick<
    Engine,
    "readHeads" | "readChangesSince" | "readJournalPage" | "replaceEpoch" | "commit" | "commitAtomically" | "readRecord"
  > {
  load(site: number, requiredHead?: Head): MaybePromise<WholeSite>;
}

type Name = keyof Calls;

/** A call that hasn't returned yet. */
export interface PendingCall<N extends Name> {
  readonly args: Parameters<NonNullable<Calls[N]>>;
  resolve(value: Awaited<ReturnType<NonNullable<Calls[N]>>>): void;
  reject(error: unknown): void;
}

export interface ManualEngine {
  readonly engine: Engine;
  /** Waits for the next call, which must be `name`. */
  next<N extends Name>(name: N): Promise<PendingCall<N>>;
  /** Returns the names of calls that haven't returned, once all other work is done. */
  waiting(): Promise<readonly Name[]>;
}

/** @param checkUnchanged for an engine that detects commits itself */
export function createManualEngine(checkUnchanged?: () => boolean): ManualEngine {
  const pending: { name: Name; args: unknown; response: PromiseWithResolvers<unknown> }[] = [];
  const method =
    (name: Name) =>
    (...args: unknown[]) => {
      const response = Promise.withResolvers<unknown>();
      pending.push({ name, args, response });
      return response.promise;
    };
  const calls = {
    readHeads: method("readHeads"),
    readChangesSince: method("readChangesSince"),
    readJournalPage: method("readJournalPage"),
    replaceEpoch: method("replaceEpoch"),
    commit: method("commit"),
    commitAtomically: method("commitAtomically"),
    readRecord: method("readRecord"),
  };
  const load = method("load") as (...args: unknown[]) => Promise<WholeSite>;
  const readSite: Engine["readSite"] = async (site, use, requiredHead) => {
    const { head, rows } = await load(site, requiredHead);
    return use({ head, counts: {}, rowChunks: [rows] });
  };
  return {
    engine: { ...calls, readSite, ...(checkUnchanged ? { checkUnchanged } : {}) } as unknown as Engine,
    async next(name) {
      await waitForOtherWork();
      const call = pending.shift();
      if (call?.name !== name) throw new Error(`the next call is ${call?.name ?? "none"}, not ${name}`);
      const { args, response } = call;
      return { args: args as never, resolve: response.resolve, reject: response.reject };
    },
    async waiting() {
      await waitForOtherWork();
      return pending.map(({ name }) => name);
    },
  };
}

/** Waits 20 ticks, more than any code under test needs to reach its next engine call. After that, only engine calls are in flight. */
export async function waitForOtherWork(): Promise<void> {
  for (let tick = 0; tick < 20; tick++) await new Promise((resolve) => setImmediate(resolve));
}
