// Rate limit headers, and the error when over the limit (http/authorization/authorizer.ts).

import { expect, test } from "bun:test";
import { tooManyRequestsError } from "../../../../src/http/authorization/authorizer.ts";
import { rateLimitHeaders } from "../../../../src/http/responses.ts";

test.each([
  [{ tokensPerSecond: 1, maxTokens: 1 }, 0, '"key";q=1;w=1', '"key";r=0;t=1', 1],
  [{ tokensPerSecond: 2, maxTokens: 10 }, 9, '"key";q=10;w=5', '"key";r=9;t=1', 1],
  [{ tokensPerSecond: 2, maxTokens: 10 }, 1, '"key";q=10;w=5', '"key";r=1;t=5', 1],
  [{ tokensPerSecond: 100, maxTokens: 10 }, 10, '"key";q=10;w=1', '"key";r=10;t=0', 1],
  [{ tokensPerSecond: 0.25, maxTokens: 3 }, 2, '"key";q=3;w=12', '"key";r=2;t=4', 4],
])("rate limit headers: %j with %i left", (of, left, policy, now, retryAfter) => {
  expect(rateLimitHeaders({ limit: of, remaining: left })).toEqual({ "RateLimit-Policy": policy, RateLimit: now });
  expect(tooManyRequestsError(of, "x")).toMatchObject({
    code: "too-many-requests",
    message: "x",
    retryAfterSeconds: retryAfter,
  });
});
