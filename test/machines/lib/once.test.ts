// `once()` from src/lib/concurrency.ts calls a function on first use, and again only after a failure.

import { describe, expect, test } from "bun:test";
import { once } from "../../../src/lib/concurrency.ts";

describe("once()", () => {
  test("first use: shared while it runs", async () => {
    let count = 0;
    const get = once(async () => ++count);
    expect(count).toBe(0);
    expect(await Promise.all([get(), get()])).toEqual([1, 1]);
    expect(await get()).toBe(1);
  });

  test("called again after a failure", async () => {
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
