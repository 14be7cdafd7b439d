import { QueryClient } from "@tanstack/react-query";

/** Milliseconds before a read that failed is tried again. */
const pause = 1000;

/** Creates the cache of what a page has read. A read that the server could not answer is tried once more before the page says so; a rejected one is not. */
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
