// The requests of the search over all sites.

import { useInfiniteQuery } from "@tanstack/react-query";
import type { FindResponse } from "../../admin/api/record-types.ts";
import { callApi } from "../api/call-api.ts";

/**
 * Returns the records found so far. `further` continues a search that has stopped before the last site.
 * @param text the exact value to find; the empty text starts no search
 */
export function useFind(text: string) {
  const query = useInfiniteQuery({
    queryKey: ["find", text],
    enabled: text !== "",
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      callApi<FindResponse>(
        "GET",
        `/find?${new URLSearchParams({ text, after: String(pageParam) })}`,
        undefined,
        {},
        signal,
      ),
    getNextPageParam: ({ next }) => next,
    gcTime: 0,
    retry: false,
  });
  return {
    found: query.data?.pages.flatMap(({ found }) => found) ?? [],
    isSearching: query.isFetching,
    error: query.error,
    retry: query.data ? query.fetchNextPage : query.refetch,
    further: query.hasNextPage ? () => void query.fetchNextPage() : undefined,
  };
}
