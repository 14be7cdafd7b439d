// Reads and changes the API keys of a site.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useTranslate } from "react-admin";
import { callApi } from "../api.ts";
import { serverNow } from "../clock.ts";
import { useSite } from "../site-context.ts";

export interface ApiKey {
  readonly id: number;
  readonly prefix: string;
  readonly label: string;
  readonly scope: "read" | "write";
  readonly rate: number | null;
  readonly created: string;
  readonly expires: string | null;
  readonly lastUsed: string | null;
  readonly state: "valid" | "expired" | "revoked";
}

/** The actions for a valid key. */
export type KeyTask = "edit" | "rotate" | "revoke";

/** The settings of a key. */
export interface KeyValues {
  readonly label: string;
  readonly scope?: "read" | "write";
  readonly rate: number | null;
  readonly expires: string | null;
}

/** Returns the name of a key in a sentence: its label and prefix, or the prefix alone. */
export function useKeyName({ label, prefix }: Pick<ApiKey, "label" | "prefix">): string {
  const translate = useTranslate();
  return label ? translate("keys.named", { label, prefix }) : `${prefix}…`;
}

/** Milliseconds before its expiry from which on a key is marked: 30 days. */
const soon = 30 * 24 * 60 * 60_000;

/** Whether a valid key expires within 30 days. */
export function isEndingSoon({ state, expires }: ApiKey): boolean {
  return state === "valid" && expires !== null && Date.parse(expires) - serverNow() < soon;
}

/** Sorts keys: valid keys first, and newer keys before older ones. */
function inOrder(keys: readonly ApiKey[]): ApiKey[] {
  return [...keys].sort(
    (one, other) => Number(other.state === "valid") - Number(one.state === "valid") || other.id - one.id,
  );
}

export function useKeys() {
  const site = useSite();
  return useQuery({
    queryKey: ["keys", site],
    queryFn: async () => inOrder((await callApi<{ keys: ApiKey[] }>("GET", pathOf(site))).keys),
  });
}

/** Returns the functions that change keys. After each, the list is read again. */
export function useKeyActions() {
  const site = useSite();
  const queries = useQueryClient();
  async function done<T>(request: Promise<T>): Promise<T> {
    const result = await request;
    await queries.invalidateQueries({ queryKey: ["keys", site] });
    return result;
  }
  return {
    create: (settings: KeyValues) => done(callApi<{ key: string }>("POST", pathOf(site), settings)),
    change: (id: number, settings: KeyValues) => done(callApi("PATCH", `${pathOf(site)}/${id}`, settings)),
    revoke: (id: number) => done(callApi("POST", `${pathOf(site)}/${id}/revoke`, {})),
    rotate: (id: number, overlap: number) =>
      done(callApi<{ key: string }>("POST", `${pathOf(site)}/${id}/rotate`, { overlap })),
  };
}

function pathOf(site: string): string {
  return `/sites/${encodeURIComponent(site)}/keys`;
}
