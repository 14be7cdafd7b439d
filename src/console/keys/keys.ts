// Reads and changes a site's API keys.

import { useMemo } from "react";
import type { KeyBody, KeysResponse, KeyTrafficResponse, NewKeyResponse, RotationBody } from "../../admin/api/types.ts";
import { useRead, useSend, useSitePath } from "../shell/site-data.ts";
import { showInvisible, translate } from "../text/translate.ts";

export type KeyTask = "edit" | "rotate" | "revoke";

interface NamedKey {
  readonly label: string | null;
  readonly prefix: string;
}

/** Returns a key's label, or its prefix if it has none. */
export function labelOfKey({ label, prefix }: NamedKey): string {
  return label ? showInvisible(label) : `${prefix}…`;
}

/** Returns what to call a key in a sentence: its label and prefix, or just the prefix. */
export function formatKeyName({ label, prefix }: NamedKey): string {
  return label ? translate("keys.named", { label: showInvisible(label), prefix }) : `${prefix}…`;
}

export function requestsOfKeyPath(siteName: string, prefix: string): string {
  return `/${siteName}/requests?key=${prefix}`;
}

/** Sorts active keys first, then newer ones before older ones. */
function sortKeys({ keys, ...others }: KeysResponse): KeysResponse {
  const sorted = [...keys].sort(
    (one, other) => Number(other.state === "valid") - Number(one.state === "valid") || other.id - one.id,
  );
  return { ...others, keys: sorted };
}

/** Milliseconds between two reads of the keys, and of their traffic. */
const trafficIntervalMs = 60_000;

export function useKeys() {
  return useRead<KeysResponse, KeysResponse>(useSitePath("/keys"), {
    select: sortKeys,
    refetchInterval: trafficIntervalMs,
  });
}

export function useKeyTraffic() {
  return useRead<KeyTrafficResponse>(useSitePath("/key-traffic"), { refetchInterval: trafficIntervalMs });
}

/** Returns each key's request count for the last day, by key ID. Undefined until the counts are read, or if they can't be. */
export function useRequestCounts(): RequestCounts | undefined {
  const { data } = useKeyTraffic();
  return useMemo(() => data && new Map(data.keys.map(({ id, requests }) => [id, requests])), [data]);
}

export type RequestCounts = ReadonlyMap<number, number>;

/** Returns the functions that change keys. After each, the list is reloaded. */
export function useKeyActions() {
  const send = useSend(useSitePath("/keys"));
  return {
    create: (settings: KeyBody) => send<NewKeyResponse>("POST", "", settings),
    change: (id: number, settings: KeyBody) => send("PATCH", `/${id}`, settings),
    revoke: (id: number) => send("POST", `/${id}/revoke`, {}),
    rotate: (id: number, overlap: number) =>
      send<NewKeyResponse>("POST", `/${id}/rotate`, { overlap } satisfies RotationBody),
  };
}
