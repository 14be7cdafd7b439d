// Reads and changes the API keys of a site.

import { useMemo } from "react";
import type {
  KeyBody,
  KeyInfo,
  KeysResponse,
  KeyTrafficResponse,
  NewKeyResponse,
  RotationBody,
} from "../../admin/api/types.ts";
import { useRead, useSend, useSitePath } from "../shell/site-data.ts";
import { showInvisible, translate } from "../text/translate.ts";

export type KeyTask = "edit" | "rotate" | "revoke";

/** Returns the label of a key; the beginning of the key if it has none. */
export function labelOfKey({ label, prefix }: Pick<KeyInfo, "label" | "prefix">): string {
  return showInvisible(label) || `${prefix}…`;
}

/** Returns the name of a key in a sentence: its label and prefix, or the prefix alone. */
export function formatKeyName({ label, prefix }: Pick<KeyInfo, "label" | "prefix">): string {
  return label ? translate("keys.named", { label, prefix }) : `${prefix}…`;
}

export function requestsOfKeyPath(siteName: string, prefix: string): string {
  return `/${siteName}/requests?key=${prefix}`;
}

/** Sorts keys: valid keys first, and newer keys before older ones. */
function inOrder({ keys }: KeysResponse): readonly KeyInfo[] {
  return [...keys].sort(
    (one, other) => Number(other.state === "valid") - Number(one.state === "valid") || other.id - one.id,
  );
}

export function useKeys() {
  return useRead<KeysResponse, readonly KeyInfo[]>(useSitePath("/keys"), { select: inOrder });
}

const trafficIntervalMs = 60_000;

export function useKeyTraffic() {
  return useRead<KeyTrafficResponse>(useSitePath("/key-traffic"), { refetchInterval: trafficIntervalMs });
}

/** Returns the number of requests of each key in the last day, by its ID; undefined until they are read, or if they cannot be read. */
export function useRequestCounts(): RequestCounts | undefined {
  const { data } = useKeyTraffic();
  return useMemo(() => data && new Map(data.keys.map(({ id, requests }) => [id, requests])), [data]);
}

export type RequestCounts = ReadonlyMap<number, number>;

/** Returns the functions that change keys. After each, the list is read again. */
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
