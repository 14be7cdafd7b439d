// Temporary failures are not cached, are logged with message and stack, and do not fill the log.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { logAndConvertError } from "../../src/http/handler.ts";
import type { RequestContext } from "../../src/http/request-context.ts";
import { RequestId } from "../../src/http/request-ids.ts";
import { once } from "../../src/lib/concurrency.ts";
import { toLoggedError } from "../../src/lib/errors-for-log.ts";
import { createLogRateLimiter } from "../../src/lib/logging.ts";
import type { Engine } from "../../src/model/engine.ts";
import { OutdatedError, ProblemError } from "../../src/model/errors.ts";
import { SiteViews } from "../../src/store/reads/site-views.ts";
import { WriteQueue } from "../../src/store/writes/write-queue.ts";
import { HeaderFields } from "../../src/wire/header-fields.ts";
import { createIntent } from "../support/engine/intents.ts";

describe("once()", () => {
  test("calls its function on first use, and shares the call while it runs", async () => {
    let count = 0;
    const get = once(async () => ++count);
    expect(count).toBe(0);
    expect(await Promise.all([get(), get()])).toEqual([1, 1]);
    expect(await get()).toBe(1);
  });

  test("calls it again after a failure", async () => {
    let fails = true;
    const later = once(async () => {
      if (fails) throw new Error("out of file descriptors");
      return "made";
    });
    const atOnce = once(() => {
      if (fails) throw new Error("out of memory");
      return "made";
    });
    await expect(Promise.all([later(), later()])).rejects.toThrow("out of file descriptors");
    expect(atOnce).toThrow("out of memory");
    fails = false;
    expect([await later(), atOnce()]).toEqual(["made", "made"]);
  });
});

describe("a response that the server is unavailable", () => {
  const exchange = {
    id: new RequestId(["r", 1]),
    request: { headers: new HeaderFields(new Map()) },
  } as RequestContext;
  const logged: string[] = [];
  const log = pino({ base: null }, { write: (line) => void logged.push(JSON.parse(line).msg) });
  const reported = (error: unknown) => {
    logged.length = 0;
    return logAndConvertError(error, exchange, { log, logLimit: createLogRateLimiter(Date.now) });
  };

  test("shows nothing of a storage that failed, which is logged", () => {
    const refusal = reported(
      new ProblemError("unavailable", "the database /var/shop.db cannot be used", { retryAfterSeconds: 5 }),
    );
    expect(refusal).toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
    expect(refusal.message).toMatch(/^the storage does not respond; send the request again/);
    expect(logged).toEqual(["the storage failed"]);
  });

  test("says that too many writes are waiting, which is not logged", async () => {
    const engine = { commit: () => new Promise(() => {}) } as unknown as Engine;
    const queue = new WriteQueue(engine, new SiteViews(engine, [], 0));
    for (let i = 0; i <= 10_000; i++) void queue.enqueue(createIntent());
    const refusal = reported(await queue.enqueue(createIntent()).catch((error) => error));
    expect(refusal).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    expect(refusal.message).toBe("too many writes are waiting; try again");
    expect(logged).toEqual([]);
  });

  test("says that the site was restored or removed, which is not logged", () => {
    const refusal = reported(new OutdatedError("epoch"));
    expect(refusal).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    expect(refusal.message).toBe("the site was restored or removed at this moment; try again");
    expect(logged).toEqual([]);
  });
});

describe("the log", () => {
  test("has message and stack of a module that could not be loaded", async () => {
    const folder = mkdtempSync(join(tmpdir(), "storefront-test-"));
    writeFileSync(join(folder, "broken.ts"), "const = 1;");
    const error = await import(join(folder, "broken.ts")).catch((thrown) => thrown);
    const logged = JSON.parse(JSON.stringify(toLoggedError(error)));
    expect(logged.message).toContain("broken.ts");
    expect(logged.errors[0].message).toContain("Expected identifier");
    rmSync(folder, { recursive: true, force: true });
  });

  test("has nested causes, up to a limit", () => {
    const cause: Error & { code?: string } = new Error("the disk is full");
    cause.code = "ENOSPC";
    const refusal = new ProblemError("unavailable", "the database cannot be used", { cause });
    const logged = toLoggedError(refusal);
    expect(logged).toMatchObject({ type: "ProblemError", cause: { message: "the disk is full", code: "ENOSPC" } });
    expect(logged.stack).toContain("failures.test.ts");
    cause.cause = refusal;
    expect(JSON.stringify(toLoggedError(refusal)).match(/the disk is full/g)?.length).toBeLessThan(10);
  });

  test("accepts any thrown value", () => {
    expect([toLoggedError("text"), toLoggedError(undefined)]).toEqual([
      { type: "string", message: "text" },
      { type: "undefined", message: "undefined" },
    ]);
  });

  test("has the same cause once a second, with the number of suppressed lines", () => {
    let now = 0;
    const limited = createLogRateLimiter(() => now);
    const logged: [string, number][] = [];
    const happen = (cause: string) => limited(cause, (suppressed) => logged.push([cause, suppressed]));
    for (now = 0; now < 3000; now += 100) {
      happen("a");
      if (now === 500) happen("b");
    }
    expect(logged).toEqual([
      ["a", 0],
      ["b", 0],
      ["a", 9],
      ["a", 9],
    ]);
  });

  test("has at most 100 lines a second, whatever the causes are", () => {
    let now = 0;
    const limited = createLogRateLimiter(() => now);
    let count = 0;
    const happen = () => {
      for (let index = 0; index < 250; index++) limited(`cause ${index}`, () => count++);
    };
    happen();
    happen();
    expect(count).toBe(100);
    now = 1000;
    happen();
    expect(count).toBe(200);
  });
});
