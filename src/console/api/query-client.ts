import { QueryClient } from "@tanstack/react-query";

/** Milliseconds before a failed read is repeated. */
const pause = 1000;

/**
 * Creates the cache of a page's reads. A read is repeated once if the server could not be reached or failed (5xx), but not if it was rejected
 * (4xx).
 */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        retry: (failures, error) => failures < 1 && isOfServer(error),
        retryDelay: pause,
      },
    },
  });
}

function isOfServer(error: Error): boolean {
  const { status = 0 } = error as { readonly status?: number };
  return status === 0 || status >= 500;
}
