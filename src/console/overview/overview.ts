// Reads the data of the overview.

import { useQuery } from "@tanstack/react-query";
import type { OverviewResponse, TrafficResponse } from "../../admin/api/types.ts";
import { callApi, sitePath } from "../api/call-api.ts";
import { useSession, useSiteName } from "../shell/site-context.ts";

/** Milliseconds between two reads of the overview. */
const intervalMs = 10_000;

/** Reads the traffic of the server in the last hour. Does not read it for operators of some sites, who may not see it. */
export function useTraffic() {
  const { sites } = useSession();
  return useQuery({
    queryKey: ["traffic"],
    queryFn: async () => (await callApi<TrafficResponse>("GET", "/traffic")).points,
    refetchInterval: intervalMs,
    enabled: sites === null,
  });
}

export function useOverview() {
  const siteName = useSiteName();
  return useQuery({
    queryKey: ["overview", siteName],
    queryFn: () => callApi<OverviewResponse>("GET", sitePath(siteName, "/overview")),
    refetchInterval: intervalMs,
  });
}
