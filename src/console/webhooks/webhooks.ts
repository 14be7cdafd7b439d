// Reads and changes the webhooks of a site.

import { useQuery, useQueryClient } from "@tanstack/react-query";
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
import { callApi, sitePath } from "../api/call-api.ts";
import { useSiteName } from "../shell/site-context.ts";
import { toNumber } from "../text/locale.ts";
import { serverNow } from "../text/server-time.ts";
import { translate } from "../text/translate.ts";

/** Milliseconds between two reads of webhooks and deliveries; while an attempt is awaited, between two reads of webhooks. */
const intervalMs = 5000;
const awaitedIntervalMs = 1000;

/** Whether a failing webhook need not wait for its next attempt: a server makes it within a few seconds. */
export function isRetried({ status, nextAt }: Pick<ListedWebhookInfo, "status" | "nextAt">): boolean {
  return status === "failing" && (nextAt === null || Date.parse(nextAt) <= serverNow());
}

export function useWebhooks() {
  const siteName = useSiteName();
  return useQuery({
    queryKey: ["webhooks", siteName],
    queryFn: async () => (await callApi<WebhooksResponse>("GET", webhooksPath(siteName))).webhooks,
    refetchInterval: ({ state }) => (state.data?.some(isRetried) ? awaitedIntervalMs : intervalMs),
  });
}

export function useDeliveries(id: number) {
  const siteName = useSiteName();
  return useQuery({
    queryKey: ["webhooks", siteName, id],
    queryFn: () => callApi<DeliveriesResponse>("GET", `${webhooksPath(siteName)}/${id}/deliveries`),
    refetchInterval: intervalMs,
  });
}

/** Reads the request and the response of an attempt, which never change. @param number the number of the attempt */
export function useExchange(id: number, number: number) {
  const siteName = useSiteName();
  return useQuery({
    queryKey: ["exchange", siteName, id, number],
    queryFn: () => callApi<ExchangeResponse>("GET", `${webhooksPath(siteName)}/${id}/deliveries/${number}`),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}

/** Formats a duration: `12 ms`, or from a second on `1.5 s`. */
export function toDuration(milliseconds: number): string {
  if (milliseconds < 1000) return translate("webhooks.milliseconds", { count: milliseconds });
  return translate("webhooks.seconds", { count: toNumber(milliseconds / 1000, { maximumFractionDigits: 1 }) });
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
    change: (id: number, url: string) =>
      done(callApi<ChangedWebhookResponse>("PATCH", `${webhooksPath(siteName)}/${id}`, { url } satisfies WebhookBody)),
    remove: (id: number) => done(callApi("DELETE", `${webhooksPath(siteName)}/${id}`)),
    test: (id: number) => post<AttemptInfo>(id, "test"),
    retry: (id: number) => post(id, "retry"),
    pause: (id: number) => post(id, "pause"),
    resume: (id: number) => post(id, "resume"),
    rotate: (id: number) => post<RotatedWebhookResponse>(id, "rotate"),
    rewind: (id: number, time: string) => post(id, "rewind", { since: { time } } satisfies RewindBody),
  };
}

function webhooksPath(siteName: string): string {
  return sitePath(siteName, "/webhooks");
}
