// Reads the last requests of a site while its page is shown.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { LoggedRequestInfo, RequestsResponse } from "../../admin/api/types.ts";
import { callApi, sitePath } from "../api/call-api.ts";
import { useSiteName } from "../shell/site-context.ts";

/** Milliseconds between two reads. A page in a hidden tab does not read. */
const intervalMs = 2000;
/** Maximum number of requests in the list, as many as a response has. */
const maxRequests = 200;
/** Milliseconds by which reads overlap: another process of the server may tell of its requests a little later. */
const overlapMs = 5000;

/** Which requests to show. An empty text shows all. */
export interface RequestFilter {
  /** The first digit of the status. */
  readonly status: string;
  /** The prefix of a key. */
  readonly key: string;
  /** The code of a problem. */
  readonly problem: string;
}

/** Reads the last requests, the latest first. Each read only asks for new ones. @param isPaused whether the list stays as it is */
export function useRequests(filter: RequestFilter, isPaused: boolean) {
  const siteName = useSiteName();
  const queries = useQueryClient();
  const queryKey = ["requests", siteName, filter];
  return useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const known = queries.getQueryData<readonly LoggedRequestInfo[]>(queryKey) ?? [];
      const path = `${sitePath(siteName, "/requests")}?${toSearch(filter, known[0]?.at)}`;
      const { requests } = await callApi<RequestsResponse>("GET", path, undefined, { signal });
      return mergeRequests(known, requests);
    },
    refetchInterval: isPaused ? false : intervalMs,
    refetchOnWindowFocus: !isPaused,
  });
}

/** @param latest the time of the latest known request, in ISO 8601 */
function toSearch({ status, key, problem }: RequestFilter, latest: string | undefined): URLSearchParams {
  const after = latest === undefined ? "" : new Date(Date.parse(latest) - overlapMs).toISOString();
  const parameters = Object.entries({ status, key, problem, after }).filter(([, value]) => value !== "");
  return new URLSearchParams(parameters);
}

/** Returns the known requests with the new ones, each once. Returns the same list if there is nothing new. */
function mergeRequests(
  known: readonly LoggedRequestInfo[],
  read: readonly LoggedRequestInfo[],
): readonly LoggedRequestInfo[] {
  const ids = new Set(known.map(({ id }) => id));
  const added = read.filter(({ id }) => !ids.has(id));
  if (added.length === 0) return known;
  return [...added, ...known].sort((one, other) => other.at.localeCompare(one.at)).slice(0, maxRequests);
}
