// Reads and changes the webhooks of a site.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { callApi } from "../api.ts";
import { useSite } from "../site-context.ts";

export interface Webhook {
  readonly id: number;
  readonly url: string;
  /** Paths of the resources; an empty list for all resources. */
  readonly resources: readonly string[];
  readonly status: "active" | "failing" | "paused" | "incomplete";
  readonly detail: string;
  /** Number of changes that are not delivered yet; null if the cursor belongs to another epoch. */
  readonly behind: number | null;
  readonly nextAt: string | null;
}

export interface WebhookDelivery {
  readonly at: string;
  readonly status: number | null;
  readonly milliseconds: number;
  readonly fault: string | null;
}

/** Milliseconds between two reads of webhooks and deliveries. */
const interval = 5000;

export function useWebhooks() {
  const site = useSite();
  return useQuery({
    queryKey: ["webhooks", site],
    queryFn: async () => (await callApi<{ webhooks: Webhook[] }>("GET", pathOf(site))).webhooks,
    refetchInterval: interval,
  });
}

export function useDeliveries(id: number) {
  const site = useSite();
  return useQuery({
    queryKey: ["webhooks", site, id],
    queryFn: async () =>
      (await callApi<{ deliveries: WebhookDelivery[] }>("GET", `${pathOf(site)}/${id}/deliveries`)).deliveries,
    refetchInterval: interval,
  });
}

/** Returns the functions that change webhooks. After each, also if it fails, the list is read again. */
export function useWebhookActions() {
  const site = useSite();
  const queries = useQueryClient();
  async function done<T>(request: Promise<T>): Promise<T> {
    try {
      return await request;
    } finally {
      await queries.invalidateQueries({ queryKey: ["webhooks", site] });
    }
  }
  const post = <T>(id: number, action: string, body: object = {}) =>
    done(callApi<T>("POST", `${pathOf(site)}/${id}/${action}`, body));
  return {
    add: (url: string, resources: readonly string[]) =>
      done(callApi<{ secret: string; isResolved: boolean }>("POST", pathOf(site), { url, resources })),
    remove: (id: number) => done(callApi("DELETE", `${pathOf(site)}/${id}`)),
    test: (id: number) => post<WebhookDelivery>(id, "test"),
    pause: (id: number) => post(id, "pause"),
    resume: (id: number) => post(id, "resume"),
    rotate: (id: number) => post<{ secret: string }>(id, "rotate"),
    rewind: (id: number, time: string) => post(id, "rewind", { since: { time } }),
  };
}

function pathOf(site: string): string {
  return `/sites/${encodeURIComponent(site)}/webhooks`;
}
