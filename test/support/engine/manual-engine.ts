// An engine whose calls return when the test decides, to test races.

import type { MaybePromise } from "../../../src/lib/maybe-promise.ts";
import type { Engine } from "../../../src/model/engine.ts";
import type { Head } from "../../../src/model/head.ts";
import type { WholeSite } from "../../../src/store/database/read-all-rows.ts";

/** The calls of the engine, in which reading a whole site is `load`. */
interface Calls
  extends Pick<
    Engine,
    "readHeads" | "readChangesSince" | "readJournalPage" | "replaceEpoch" | "commit" | "commitAtomically" | "readRecord"
  > {
  load(site: number, requiredHead?: Head): MaybePromise<WholeSite>;
}

type Name = keyof Calls;

/** A call of the engine that has not returned. */
export interface PendingCall<N extends Name> {
  readonly args: Parameters<NonNullable<Calls[N]>>;
  resolve(value: Awaited<ReturnType<NonNullable<Calls[N]>>>): void;
  reject(error: unknown): void;
}

export interface ManualEngine {
  readonly engine: Engine;
  /** Waits for the next call, which must be of `name`. */
  next<N extends Name>(name: N): Promise<PendingCall<N>>;
  /** The names of the calls that have not returned, after all other work has been done. */
  waiting(): Promise<readonly Name[]>;
}

/** @param checkUnchanged the method of an engine that detects commits by itself */
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

/** Waits for 20 ticks: more than any code under test needs to go on to its next call of the engine. So only calls of the engine are in flight after that. */
export async function waitForOtherWork(): Promise<void> {
  for (let tick = 0; tick < 20; tick++) await new Promise((resolve) => setImmediate(resolve));
}
