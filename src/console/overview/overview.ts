// Reads the data of the overview.

import { useQuery } from "@tanstack/react-query";
import type { OverviewResponse, TrafficResponse } from "../../admin/api/types.ts";
import { callApi, sitePath } from "../api/call-api.ts";
import { keyTrafficQuery } from "../keys/keys.ts";
import { useSession, useSiteName } from "../shell/site-context.ts";

/** Milliseconds between two reads of the overview, of the traffic of the last hour, and of slower figures. */
const [intervalMs, slowIntervalMs] = [10_000, 60_000];

/** How far back the charts of the server go. */
export type TrafficSpan = "hour" | "day";

/** Reads the traffic of the server. Does not read it for operators of some sites, who may not see it. */
export function useTraffic(span: TrafficSpan) {
  const { sites } = useSession();
  return useQuery({
    queryKey: ["traffic", span],
    queryFn: async () => (await callApi<TrafficResponse>("GET", `/traffic?span=${span}`)).points,
    refetchInterval: span === "hour" ? intervalMs : slowIntervalMs,
    enabled: sites === null,
  });
}

/** Reads how many requests each key of the shop sent in the last day. */
export function useKeyTraffic() {
  const siteName = useSiteName();
  return useQuery({ ...keyTrafficQuery(siteName), refetchInterval: slowIntervalMs });
}

export function useOverview() {
  const siteName = useSiteName();
  return useQuery({
    queryKey: ["overview", siteName],
    queryFn: () => callApi<OverviewResponse>("GET", sitePath(siteName, "/overview")),
    refetchInterval: intervalMs,
  });
}
