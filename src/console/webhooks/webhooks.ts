// Reads and changes the webhooks of a site.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import type {
  AttemptInfo,
  DeliveriesResponse,
  NewWebhookBody,
  NewWebhookResponse,
  RewindBody,
  RotatedWebhookResponse,
  WebhooksResponse,
} from "../../admin/api/types.ts";
import { callApi } from "../api/call-api.ts";
import { sitePath } from "../api/site-path.ts";
import { useSiteName } from "../shell/site-context.ts";

/** Milliseconds between two reads of webhooks and deliveries. */
const intervalMs = 5000;

export function useWebhooks() {
  const siteName = useSiteName();
  return useQuery({
    queryKey: ["webhooks", siteName],
    queryFn: async () => (await callApi<WebhooksResponse>("GET", webhooksPath(siteName))).webhooks,
    refetchInterval: intervalMs,
  });
}

export function useDeliveries(id: number) {
  const siteName = useSiteName();
  return useQuery({
    queryKey: ["webhooks", siteName, id],
    queryFn: async () =>
      (await callApi<DeliveriesResponse>("GET", `${webhooksPath(siteName)}/${id}/deliveries`)).deliveries,
    refetchInterval: intervalMs,
  });
}

/** Returns the functions that change webhooks. After each, also if it fails, the list is read again. */
export function useWebhookActions() {
  const siteName = useSiteName();
  const queries = useQueryClient();
  async function done<T>(request: Promise<T>): Promise<T> {
    try {
      return await request;
    } finally {
      await queries.invalidateQueries({ queryKey: ["webhooks", siteName] });
    }
  }
  const post = <T>(id: number, action: string, body: object = {}) =>
    done(callApi<T>("POST", `${webhooksPath(siteName)}/${id}/${action}`, body));
  return {
    add: (webhook: NewWebhookBody) => done(callApi<NewWebhookResponse>("POST", webhooksPath(siteName), webhook)),
    remove: (id: number) => done(callApi("DELETE", `${webhooksPath(siteName)}/${id}`)),
    test: (id: number) => post<AttemptInfo>(id, "test"),
    pause: (id: number) => post(id, "pause"),
    resume: (id: number) => post(id, "resume"),
    rotate: (id: number) => post<RotatedWebhookResponse>(id, "rotate"),
    rewind: (id: number, time: string) => post(id, "rewind", { since: { time } } satisfies RewindBody),
  };
}

function webhooksPath(siteName: string): string {
  return sitePath(siteName, "/webhooks");
}
