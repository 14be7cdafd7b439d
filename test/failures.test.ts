// Temporary failures are not cached, are logged with message and stack, and do not fill the log.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogLimit } from "../src/lib/log-limit.ts";
import { once } from "../src/lib/once.ts";
import { toLogged } from "../src/lib/thrown.ts";
import { Refusal } from "../src/model/errors.ts";

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

describe("the log", () => {
  test("has message and stack of a module that could not be loaded", async () => {
    const folder = mkdtempSync(join(tmpdir(), "storefront-test-"));
    writeFileSync(join(folder, "broken.ts"), "const = 1;");
    const error = await import(join(folder, "broken.ts")).catch((thrown) => thrown);
    const logged = JSON.parse(JSON.stringify(toLogged(error)));
    expect(logged.message).toContain("broken.ts");
    expect(logged.errors[0].message).toContain("Expected identifier");
    rmSync(folder, { recursive: true });
  });

  test("has nested causes, up to a limit", () => {
    const cause: Error & { code?: string } = new Error("the disk is full");
    cause.code = "ENOSPC";
    const refusal = new Refusal("unavailable", "the database cannot be used", { cause });
    const logged = toLogged(refusal);
    expect(logged).toMatchObject({ type: "Refusal", cause: { message: "the disk is full", code: "ENOSPC" } });
    expect(logged.stack).toContain("failures.test.ts");
    cause.cause = refusal;
    expect(JSON.stringify(toLogged(refusal)).match(/the disk is full/g)?.length).toBeLessThan(10);
  });

  test("accepts any thrown value", () => {
    expect([toLogged("text"), toLogged(undefined)]).toEqual([
      { type: "string", message: "text" },
      { type: "undefined", message: "undefined" },
    ]);
  });

  test("has the same cause once a second, with the number of suppressed lines", () => {
    let now = 0;
    const limited = createLogLimit(() => now);
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
    const limited = createLogLimit(() => now);
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
