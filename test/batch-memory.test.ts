// What stays in memory of the batches in which the embedded engine commits.

import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Intent, Outcome } from "../src/model/write.ts";
import { allResources } from "../src/resources/all.ts";
import { openEngine } from "../src/store/open.ts";

const batchSize = 64;

test("a record that is kept keeps nothing else of the batch that changed it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "storefront-batch-"));
  const engine = await openEngine(`sqlite:${join(folder, "a.db")}`, allResources);
  try {
    await engine.commit(Array.from({ length: batchSize }, () => intent("create", "a")));
    const kept: string[] = [];
    const before = memoryOfTexts();
    for (let i = 0; i < 100; i++) {
      const batch = Array.from({ length: batchSize }, (_, at) => intent("update", `${i}`.padEnd(1000), at + 1));
      const [first] = (await engine.commit(batch)) as [Extract<Outcome, { kind: "done" }>];
      // To answer is to read it.
      expect(first.body).toContain(`"Name":"${i} `);
      kept.push(first.body);
    }
    const whole = 100 * batchSize * 1000;
    expect(memoryOfTexts() - before).toBeLessThan(whole / 10);
    expect(new Set(kept).size).toBe(100);
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true });
  }
});

function intent(operation: "create" | "update", name: string, id?: number): Intent {
  return { site: 1, resource: "brand", operation, id, text: JSON.stringify({ Name: name }), actor: "test", at: 1 };
}

/** In bytes: what is held outside the heap of objects. */
function memoryOfTexts(): number {
  Bun.gc(true);
  return heapStats().extraMemorySize;
}
