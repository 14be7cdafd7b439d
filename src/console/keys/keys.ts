// Reads and changes the API keys of a site.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useTranslate } from "react-admin";
import type { KeyBody, KeysResponse, ListedKeyInfo, NewKeyResponse, RotationBody } from "../../admin/api/types.ts";
import { callApi } from "../api/call-api.ts";
import { useSite } from "../shell/site-context.ts";

/** The actions for a valid key. */
export type KeyTask = "edit" | "rotate" | "revoke";

/** Returns the name of a key in a sentence: its label and prefix, or the prefix alone. */
export function useKeyName({ label, prefix }: Pick<ListedKeyInfo, "label" | "prefix">): string {
  const translate = useTranslate();
  return label ? translate("keys.named", { label, prefix }) : `${prefix}…`;
}

/** Sorts keys: valid keys first, and newer keys before older ones. */
function inOrder(keys: readonly ListedKeyInfo[]): ListedKeyInfo[] {
  return [...keys].sort(
    (one, other) => Number(other.state === "valid") - Number(one.state === "valid") || other.id - one.id,
  );
}

export function useKeys() {
  const site = useSite();
  return useQuery({
    queryKey: ["keys", site],
    queryFn: async () => inOrder((await callApi<KeysResponse>("GET", pathOf(site))).keys),
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
    create: (settings: KeyBody) => done(callApi<NewKeyResponse>("POST", pathOf(site), settings)),
    change: (id: number, settings: KeyBody) => done(callApi("PATCH", `${pathOf(site)}/${id}`, settings)),
    revoke: (id: number) => done(callApi("POST", `${pathOf(site)}/${id}/revoke`, {})),
    rotate: (id: number, overlap: number) =>
      done(callApi<NewKeyResponse>("POST", `${pathOf(site)}/${id}/rotate`, { overlap } satisfies RotationBody)),
  };
}

function pathOf(site: string): string {
  return `/sites/${encodeURIComponent(site)}/keys`;
}
