// A response saying that the server is unavailable (`logAndConvertError` in src/http/handler.ts) says what the client can do. The reason for a failure is only
// logged.

import { describe, expect, test } from "bun:test";
import pino from "pino";
import { logAndConvertError } from "../../../src/http/handler.ts";
import type { RequestContext } from "../../../src/http/request-context.ts";
import { RequestId } from "../../../src/http/request-ids.ts";
import { createLogRateLimiter } from "../../../src/lib/logging.ts";
import type { Engine } from "../../../src/model/engine.ts";
import { OutdatedError, ProblemError } from "../../../src/model/errors.ts";
import { SiteViews } from "../../../src/store/reads/site-views.ts";
import { WriteQueue } from "../../../src/store/writes/write-queue.ts";
import { HeaderFields } from "../../../src/wire/header-fields.ts";
import { createIntent } from "../../support/engine/intents.ts";

describe("unavailable", () => {
  const context = {
    id: new RequestId(["r", 1]),
    request: { headers: new HeaderFields(new Map()) },
  } as RequestContext;
  const logged: string[] = [];
  const log = pino({ base: null }, { write: (line) => void logged.push(JSON.parse(line).msg) });
  const reported = (error: unknown) => {
    logged.length = 0;
    return logAndConvertError(error, context, { log, logLimit: createLogRateLimiter(Date.now) });
  };

  test("storage failure: only logged", () => {
    const problem = reported(
      new ProblemError("unavailable", "the database /var/shop.db cannot be used", { retryAfterSeconds: 5 }),
    );
    expect(problem).toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
    expect(problem.message).toMatch(/^the storage isn't responding; try again/);
    expect(logged).toEqual(["the database failed"]);
  });

  test("too many writes waiting: in the response, not logged", async () => {
    const engine = { commit: () => new Promise(() => {}) } as unknown as Engine;
    const queue = new WriteQueue(engine, new SiteViews(engine, [], 0));
    for (let i = 0; i <= 10_000; i++) void queue.enqueue(createIntent());
    const problem = reported(await queue.enqueue(createIntent()).catch((error) => error));
    expect(problem).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    expect(problem.message).toBe("too many writes are waiting; try again");
    expect(logged).toEqual([]);
  });

  test("site restored or removed: in the response, not logged", () => {
    const problem = reported(new OutdatedError("epoch"));
    expect(problem).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    expect(problem.message).toBe("the site was restored or removed at this moment; try again");
    expect(logged).toEqual([]);
  });
});
