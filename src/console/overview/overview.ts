// Reads the data of the overview.

import type { OverviewResponse, TrafficResponse } from "../../admin/api/types.ts";
import { useSession } from "../shell/site-context.ts";
import { useRead, useSitePath } from "../shell/site-data.ts";

/** Milliseconds between two reads of the overview, of the traffic of the last hour, and of slower figures. */
const [intervalMs, slowIntervalMs] = [10_000, 60_000];

/** How far back the charts of the server go. */
export type TrafficSpan = "hour" | "day";

/** Reads the traffic of the server. Does not read it for operators of some sites, who may not see it. */
export function useTraffic(span: TrafficSpan) {
  const { sites } = useSession();
  return useRead<TrafficResponse, TrafficResponse["points"]>(`/traffic?span=${span}`, {
    select: ({ points }) => points,
    refetchInterval: span === "hour" ? intervalMs : slowIntervalMs,
    enabled: sites === null,
  });
}

export function useOverview() {
  return useRead<OverviewResponse>(useSitePath("/overview"), { refetchInterval: intervalMs });
}
