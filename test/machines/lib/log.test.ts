// Logged errors have a message, stack and causes (src/lib/errors-for-log.ts), and repeated ones don't fill the log (src/lib/logging.ts).

import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toLoggedError } from "../../../src/lib/errors-for-log.ts";
import { createLogRateLimiter } from "../../../src/lib/logging.ts";
import { ProblemError } from "../../../src/model/errors.ts";

describe("the log", () => {
  test("message and stack of a failed module load", async () => {
    const folder = mkdtempSync(join(tmpdir(), "storefront-test-"));
    writeFileSync(join(folder, "broken.ts"), "const = 1;");
    const error = await import(join(folder, "broken.ts")).catch((thrown) => thrown);
    const logged = JSON.parse(JSON.stringify(toLoggedError(error)));
    expect(logged.message).toContain("broken.ts");
    expect(logged.errors[0].message).toContain("Expected identifier");
    rmSync(folder, { recursive: true, force: true });
  });

  test("a stack for server failures, none for client errors", () => {
    expect(new ProblemError("internal", "a bug").stack).toContain("log.test.ts");
    expect(new ProblemError("invalid-record", "not acceptable").stack).toBeUndefined();
    expect(new Error("another error").stack).toContain("log.test.ts");
  });

  test("nested causes, up to a limit", () => {
    const cause: Error & { code?: string } = new Error("the disk is full");
    cause.code = "ENOSPC";
    const problem = new ProblemError("unavailable", "the database cannot be used", { cause });
    const logged = toLoggedError(problem);
    expect(logged).toMatchObject({ type: "ProblemError", cause: { message: "the disk is full", code: "ENOSPC" } });
    expect(logged.stack).toContain("log.test.ts");
    cause.cause = problem;
    expect(JSON.stringify(toLoggedError(problem)).match(/the disk is full/g)?.length).toBeLessThan(10);
  });

  test("any thrown value", () => {
    expect([toLoggedError("text"), toLoggedError(undefined)]).toEqual([
      { type: "string", message: "text" },
      { type: "undefined", message: "undefined" },
    ]);
  });

  test("same cause once a second, with the number suppressed", () => {
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

  test("at most 100 lines a second, whatever the causes", () => {
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
