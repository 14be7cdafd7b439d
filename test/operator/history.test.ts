import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { journal } from "../../src/operator/history.ts";
import { allResources } from "../../src/resources/all.ts";
import { openEngine } from "../../src/store/open.ts";
import { engines } from "../support/engines.ts";
import { createIntent } from "../support/intents.ts";

describe.each(engines)("the journal on $name", (kind) => {
  beforeAll(() => kind.open());
  afterAll(() => kind.close());

  // It is read in pages of 1000 entries.
  test.each([0, 1, 999, 1000, 1001, 2000, 2500])("of %i entries comes whole and in order", async (count) => {
    const engine = await openEngine(await kind.newDatabase(), allResources);
    if (count > 0) await engine.commit(Array.from({ length: count }, () => createIntent()));
    const since = async (revision: number) => {
      const revisions: number[] = [];
      for await (const change of journal(engine, 1, revision)) revisions.push(change.revision);
      return revisions;
    };
    const all = Array.from({ length: count }, (_, n) => n + 1);
    expect(await since(0)).toEqual(all);
    expect(await since(3)).toEqual(all.slice(3));
    await engine.close();
  });
});
