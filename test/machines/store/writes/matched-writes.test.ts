// Writes that find their record by a name, while another process changes names. Also src/store/writes/record-match.ts.

import { describe, expect, test } from "bun:test";
import type { Intent } from "../../../../src/model/change.ts";
import type { Engine } from "../../../../src/model/engine.ts";
import { ProblemError } from "../../../../src/model/errors.ts";
import { findTextField, type TextFieldPath } from "../../../../src/model/resource.ts";
import { allResources } from "../../../../src/resources/all.ts";
import { brand } from "../../../../src/resources/brand.ts";
import { readAllRows } from "../../../../src/store/database/read-all-rows.ts";
import { SiteViews } from "../../../../src/store/reads/site-views.ts";
import {
  commitAllMatched,
  commitEachMatched,
  type PendingWrite,
  type WriteResult,
} from "../../../../src/store/writes/matched-writes.ts";
import { matchByValue, rematchIntent, toMatchedChange } from "../../../../src/store/writes/record-match.ts";
import { SnapshotFinder } from "../../../../src/store/writes/snapshot-finder.ts";
import { engines, maxCreatedSite, useTwoEngines } from "../../../support/engine/engines.ts";
import { createBrand, createIntent, deleteBrand, updateBrand } from "../../../support/engine/intents.ts";

const byName = findTextField(brand, "Name") as TextFieldPath;

interface TestWrite extends PendingWrite {
  readonly name: string;
}

describe.each(engines)("writes matched by a name on $name", (kind) => {
  let both: readonly [Engine, Engine];
  let siteViews: SiteViews;
  let site = maxCreatedSite;
  useTwoEngines(kind, (first, second) => {
    both = [first, second];
    siteViews = new SiteViews(first, allResources, 1 << 26);
  });

  /** Matches brands by their names, and sets their account numbers. */
  async function match(names: readonly string[], isOptional = false) {
    const texts = new Set(names);
    const options = { siteViews, wanted: [{ resource: brand, textField: byName, texts }], isWanted: () => true };
    const finder = await SnapshotFinder.open(await siteViews.getUpToDate(site), options);
    const writes = names.map((name): TestWrite => {
      const toChange = (found: ReturnType<typeof matchByValue>) =>
        toMatchedChange(brand, found, { Name: name, AccountNumber: "set" }, []);
      const found = matchByValue(finder, "brand", { keys: byName.keys, value: name });
      const intent = { ...createIntent({ site, isOptional }), ...toChange(found) };
      const rematch = (one: Intent) => rematchIntent(finder, one, toChange);
      return { name, intent, rematch };
    });
    return { finder, writes };
  }

  /**
   * Stores brands matched by their names: all in one transaction, or each for itself.
   * @param between called before each commit, with the number of the attempt
   */
  async function put(
    names: readonly string[],
    between: (attempt: number) => Promise<unknown>,
    { isAtomic = true, before = [] as readonly Intent[], isOptional = false } = {},
  ) {
    const { finder, writes } = await match(names, isOptional);
    const all: TestWrite[] = [...before.map((intent) => ({ name: `before ${intent.id}`, intent })), ...writes];
    const results = new Map<string, string>();
    let attempts = 0;
    const handlers = {
      catchUp: () => finder.catchUp(),
      onResult: ({ name }: TestWrite, result: WriteResult) => void results.set(name, toText(result)),
      onAttempt: () => results.clear(),
      onOutcomes: () => {},
    };
    if (isAtomic)
      await commitAllMatched(
        async (batches, onOutcomes) => {
          await between(++attempts);
          return both[0].commitAtomically(batches, onOutcomes);
        },
        () => [all.slice(0, 1), all.slice(1)],
        handlers,
      );
    else
      await commitEachMatched(
        async (intents) => {
          await between(++attempts);
          return both[0].commit(intents);
        },
        all,
        handlers,
      );
    return { results: Object.fromEntries(results), attempts };
  }

  const stored = async () =>
    (await readAllRows(both[0], site)).rows.flatMap(({ id, body }) => {
      const { Name, AccountNumber } = JSON.parse(body ?? "{}");
      return body === null ? [] : [`${id} ${Name} ${AccountNumber ?? ""}`.trim()];
    });
  const other = (...intents: Intent[]) => both[1].commit(intents);

  describe.each([
    ["stored in one transaction", true],
    ["each stored for itself", false],
  ] as const)("%s", (_mode, isAtomic) => {
    test("update the record that has the name, and create the others", async () => {
      site++;
      await other(createBrand(site, "A"), createBrand(site, "B"));
      const { results, attempts } = await put(["B", "C"], async () => {}, { isAtomic });
      expect([results, attempts]).toEqual([{ B: "update 2", C: "create 3" }, 1]);
      expect(await stored()).toEqual(["1 A", "2 B set", "3 C set"]);
    });

    test("follow a name that others move to another record", async () => {
      site++;
      await other(createBrand(site, "A"), createBrand(site, "B"), createBrand(site, "C"));
      const move = async (attempt: number) => {
        if (attempt === 1)
          await other(deleteBrand(site, 1), updateBrand(site, 2, { Name: "Former" }), createBrand(site, "B"));
      };
      const { results, attempts } = await put(["A", "B", "C"], move, { isAtomic });
      expect([results, attempts]).toEqual([{ A: "create 5", B: "update 4", C: "update 3" }, 2]);
      expect(await stored()).toEqual(["2 Former", "3 C set", "4 B set", "5 A set"]);
    });

    test("are rejected if several records have the name then", async () => {
      site++;
      await other(createBrand(site, "A"));
      const again = async (attempt: number) => void (attempt === 1 && (await other(createBrand(site, "A"))));
      const { results } = await put(["A", "C"], again, { isAtomic });
      expect(results.A).toBe("Name: 2 records have this value: 1, 2");
      expect(await stored()).toEqual(isAtomic ? ["1 A", "2 A"] : ["1 A", "2 A", "3 C set"]);
    });

    test("are rejected after five attempts in which others move the name", async () => {
      site++;
      const move = async (attempt: number) => {
        if (attempt > 1) await other(updateBrand(site, attempt - 1, { Name: "Former" }));
        await other(createBrand(site, "Hot"));
      };
      const { results, attempts } = await put(["Hot"], move, { isAtomic });
      expect([results, attempts]).toEqual([{ Hot: "match-changed" }, 5]);
      expect((await stored()).filter((line) => line.endsWith("set"))).toEqual([]);
    });
  });

  test.each([
    ["an empty name", "", "Name: is empty, so no record can be matched by it"],
    ["a name of seven records", "A", "Name: 7 records have this value: 1, 2, 3, 4, 5, ..."],
  ])("cannot be matched by %s", async (_, name, text) => {
    site++;
    await other(...Array.from({ length: 7 }, () => createBrand(site, "A")));
    const { writes } = await match(["B"]);
    expect(writes).toHaveLength(1);
    await expect(match([name]).catch(toText)).resolves.toBe(text);
  });

  test("that are optional are left out after five attempts, or if several records have the name, and the others are stored", async () => {
    site++;
    await other(createBrand(site, "Twice"));
    const move = async (attempt: number) => {
      if (attempt === 1) await other(createBrand(site, "Twice"));
      else await other(updateBrand(site, attempt + 1, { Name: "Former" }));
      await other(createBrand(site, "Hot"));
    };
    const { results, attempts } = await put(["Hot", "Twice", "New"], move, { isOptional: true });
    expect([results, attempts]).toEqual([
      { Hot: "match-changed", Twice: "Name: 2 records have this value: 1, 2", New: "create 9" },
      6,
    ]);
    expect((await stored()).filter((line) => line.endsWith("set"))).toEqual(["9 New set"]);
  });

  test("are rejected in the second attempt, if a write of the same transaction changes the match", async () => {
    site++;
    await other(createBrand(site, "A"));
    const before = [updateBrand(site, 1, { Name: "Renamed" })];
    const { results, attempts } = await put(["A"], async () => {}, { before });
    expect([results, attempts]).toEqual([{ "before 1": "update 1", A: "match-changed" }, 2]);
    expect(await stored()).toEqual(["1 A"]);
  });
});

function toText(result: WriteResult | unknown): string {
  if (result instanceof ProblemError)
    return result.fieldErrors.map(({ field, detail }) => `${field}: ${detail}`).join();
  const outcome = result as Exclude<WriteResult, ProblemError>;
  return outcome.kind === "rejected" ? outcome.rejectionReason : `${outcome.operation} ${outcome.id}`;
}
