// Reads and changes a site's webhooks.

import type {
  AttemptInfo,
  ChangedWebhookResponse,
  DeliveriesResponse,
  ExchangeResponse,
  ListedWebhookInfo,
  NewWebhookBody,
  NewWebhookResponse,
  RewindBody,
  RotatedWebhookResponse,
  WebhookBody,
  WebhooksResponse,
} from "../../admin/api/types.ts";
import { useRead, useSend, useSitePath } from "../shell/site-data.ts";
import { serverNow } from "../text/server-time.ts";

/** Milliseconds between two reads; the shorter interval applies while an attempt is due. */
const intervalMs = 5000;
const awaitedIntervalMs = 1000;

/** Whether a failing webhook's next attempt is due. The server makes it within a few seconds. */
export function isRetried({ status, nextAt }: Pick<ListedWebhookInfo, "status" | "nextAt">): boolean {
  return status === "failing" && (nextAt === null || Date.parse(nextAt) <= serverNow());
}

export function useWebhooks() {
  return useRead<WebhooksResponse, readonly ListedWebhookInfo[]>(useSitePath("/webhooks"), {
    select: ({ webhooks }) => webhooks,
    refetchInterval: ({ state }) => (state.data?.webhooks.some(isRetried) ? awaitedIntervalMs : intervalMs),
  });
}

export function useDeliveries(id: number) {
  return useRead<DeliveriesResponse>(useSitePath(`/webhooks/${id}/deliveries`), { refetchInterval: intervalMs });
}

/** Reads an attempt's request and response, which never change. @param number the attempt's number */
export function useExchange(id: number, number: number) {
  const path = useSitePath(`/webhooks/${id}/deliveries/${number}`);
  return useRead<ExchangeResponse>(path, { staleTime: Number.POSITIVE_INFINITY, retry: false });
}

/** Returns the functions that change webhooks. After each, even if it failed, the list is reloaded. */
export function useWebhookActions() {
  const send = useSend(useSitePath("/webhooks"));
  const post = <T>(id: number, action: string, body: object = {}) => send<T>("POST", `/${id}/${action}`, body);
  return {
    add: (webhook: NewWebhookBody) => send<NewWebhookResponse>("POST", "", webhook),
    change: (id: number, url: string) => send<ChangedWebhookResponse>("PATCH", `/${id}`, { url } satisfies WebhookBody),
    remove: (id: number) => send("DELETE", `/${id}`),
    test: (id: number) => post<AttemptInfo>(id, "test"),
    retry: (id: number) => post(id, "retry"),
    pause: (id: number) => post(id, "pause"),
    resume: (id: number) => post(id, "resume"),
    rotate: (id: number) => post<RotatedWebhookResponse>(id, "rotate"),
    rewind: (id: number, time: string) => post(id, "rewind", { since: { time } } satisfies RewindBody),
  };
}
