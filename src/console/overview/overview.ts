// Reads the data of the overview.

import { useQuery } from "@tanstack/react-query";
import { callApi } from "../api.ts";
import { useSession, useSite } from "../site-context.ts";

/** The traffic in one interval, see admin/traffic.ts. */
export interface TrafficPoint {
  readonly at: string;
  readonly seconds: number;
  readonly requests: number;
  readonly errors: number;
  readonly writes: number;
  readonly p50: number | null;
  readonly p99: number | null;
}

export interface SiteOverview {
  /** The number of records, by the path of the resource. */
  readonly records: Readonly<Record<string, number>>;
  readonly validKeys: number;
  readonly changed: string | null;
  readonly endingKeys: readonly {
    readonly id: number;
    readonly label: string;
    readonly prefix: string;
    readonly ends: string;
  }[];
  readonly webhooks: readonly {
    readonly id: number;
    readonly url: string;
    readonly status: string;
    readonly detail: string;
    readonly behind: number | null;
  }[];
  readonly lastBackup: string | null;
}

/** Milliseconds between two reads of the overview. */
const interval = 10_000;

/** Reads the traffic of the server in the last hour. Does not read it for operators of some sites, who may not see it. */
export function useTraffic() {
  const { sites } = useSession();
  return useQuery({
    queryKey: ["traffic"],
    queryFn: async () => (await callApi<{ points: readonly TrafficPoint[] }>("GET", "/traffic")).points,
    refetchInterval: interval,
    enabled: sites === null,
  });
}

export function useOverview() {
  const site = useSite();
  return useQuery({
    queryKey: ["overview", site],
    queryFn: () => callApi<SiteOverview>("GET", `/sites/${encodeURIComponent(site)}/overview`),
    refetchInterval: interval,
  });
}
