// Reads and changes the API keys of a site.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import type {
  KeyBody,
  KeysResponse,
  KeyTrafficResponse,
  ListedKeyInfo,
  NewKeyResponse,
  RotationBody,
} from "../../admin/api/types.ts";
import { callApi, sitePath } from "../api/call-api.ts";
import { useSiteName } from "../shell/site-context.ts";
import { showInvisible, translate } from "../text/translate.ts";

/** The actions for a valid key. */
export type KeyTask = "edit" | "rotate" | "revoke";

/** Returns the label of a key; the beginning of the key if it has none. */
export function labelOfKey({ label, prefix }: Pick<ListedKeyInfo, "label" | "prefix">): string {
  return showInvisible(label) || `${prefix}…`;
}

/** Returns the name of a key in a sentence: its label and prefix, or the prefix alone. */
export function formatKeyName({ label, prefix }: Pick<ListedKeyInfo, "label" | "prefix">): string {
  return label ? translate("keys.named", { label, prefix }) : `${prefix}…`;
}

/** Returns the address of the page with the requests of a key. */
export function requestsOfKeyPath(siteName: string, prefix: string): string {
  return `/${siteName}/requests?key=${prefix}`;
}

/** Sorts keys: valid keys first, and newer keys before older ones. */
function inOrder(keys: readonly ListedKeyInfo[]): ListedKeyInfo[] {
  return [...keys].sort(
    (one, other) => Number(other.state === "valid") - Number(one.state === "valid") || other.id - one.id,
  );
}

export function useKeys() {
  const siteName = useSiteName();
  return useQuery({
    queryKey: ["keys", siteName],
    queryFn: async () => inOrder((await callApi<KeysResponse>("GET", keysPath(siteName))).keys),
  });
}

/** Returns the query that reads how many requests each key of a shop sent in the last day. */
export function keyTrafficQuery(siteName: string) {
  return {
    queryKey: ["key-traffic", siteName],
    queryFn: () => callApi<KeyTrafficResponse>("GET", sitePath(siteName, "/key-traffic")),
  };
}

/** The requests of each key in the last day. */
export interface RequestCounts {
  /** @param id the ID of a key */
  requestsOf(id: number): number;
}

/** Reads how many requests each key sent in the last day; undefined until they are read, or if they cannot be read. */
export function useRequestCounts(): RequestCounts | undefined {
  const siteName = useSiteName();
  const { data } = useQuery({ ...keyTrafficQuery(siteName), select: toCounts });
  return data;
}

function toCounts({ keys }: KeyTrafficResponse): RequestCounts {
  const byId = new Map(keys.map(({ id, requests }) => [id, requests]));
  return { requestsOf: (id) => byId.get(id) ?? 0 };
}

/** Returns the functions that change keys. After each, the list is read again. */
export function useKeyActions() {
  const siteName = useSiteName();
  const queries = useQueryClient();
  async function done<T>(request: Promise<T>): Promise<T> {
    const result = await request;
    await queries.invalidateQueries({ queryKey: ["keys", siteName] });
    return result;
  }
  return {
    create: (settings: KeyBody) => done(callApi<NewKeyResponse>("POST", keysPath(siteName), settings)),
    change: (id: number, settings: KeyBody) => done(callApi("PATCH", `${keysPath(siteName)}/${id}`, settings)),
    revoke: (id: number) => done(callApi("POST", `${keysPath(siteName)}/${id}/revoke`, {})),
    rotate: (id: number, overlap: number) =>
      done(callApi<NewKeyResponse>("POST", `${keysPath(siteName)}/${id}/rotate`, { overlap } satisfies RotationBody)),
  };
}

function keysPath(siteName: string): string {
  return sitePath(siteName, "/keys");
}
