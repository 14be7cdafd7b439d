// Notices other clients' writes during a run, so that a case they may have disturbed runs again.

import { send } from "./requests.ts";
import type { Target } from "./shop.ts";

export interface Others {
  /** Returns whether records that aren't this run's have changed since the last call. */
  haveWritten(): Promise<boolean>;
}

interface Change {
  readonly Resource: string;
  readonly ID: number;
  readonly Record: { readonly Name: string } | null;
}

/** @param run prefix of the names of all the run's records */
export async function watchOthers({ url, key }: Target, run: string): Promise<Others> {
  const read = async (query: string) => {
    const headers = { "X-API-AUTH": key };
    const rest = { isFresh: false, secrets: new Map<string, string>(), signal: AbortSignal.timeout(10_000) };
    const answer = await send({ method: "GET", url: `${url}/restapi/changes.json?${query}`, headers, ...rest });
    return JSON.parse(answer.text) as { readonly Changes?: readonly Change[]; readonly Next?: string };
  };
  const own = new Set<string>();
  let cursor = (await read("since=now").catch(() => undefined))?.Next;
  return {
    async haveWritten() {
      const page = await read(`since=${cursor}&limit=1000`).catch(() => undefined);
      cursor = page?.Next ?? cursor;
      const changes = page?.Changes ?? [];
      for (const { Resource, ID, Record } of changes) if (Record?.Name.startsWith(run)) own.add(`${Resource} ${ID}`);
      return changes.some(({ Resource, ID }) => !own.has(`${Resource} ${ID}`));
    },
  };
}
