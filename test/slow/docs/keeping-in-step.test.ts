// The programs in docs/keeping-in-step.md, where their languages are installed, on a network that drops 30% of their requests: afterwards, both sides are equal,
// and each change was stored once.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Random } from "../../simulation/random.ts";
import { startTestServer, type TestServer } from "../../support/http/server.ts";
import { type FlakyProxy, type Misbehaviour, startFlakyProxy } from "../../support/wire/flaky-proxy.ts";

const root = join(import.meta.dir, "../../..");
const page = readFileSync(join(root, "docs/keeping-in-step.md"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "storefront-in-step-"));
beforeAll(() => {
  const target = join(folder, "node_modules/storefront-client");
  const built = Bun.spawnSync(["node", "bin/bun.js", "scripts/build/client.ts", target], { cwd: root });
  expect(built.exitCode).toBe(0);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The heading, the block's language, the file's name, and the command that runs it. */
const programs: [string, string, string, string[]][] = [
  ["JavaScript", "js", "in-step.mjs", ["node"]],
  ["Python", "python", "in-step.py", ["python3"]],
  ["PHP", "php", "in-step.php", ["php"]],
  ["C#", "csharp", "in-step.cs", ["dotnet", "run"]],
];

function programOf(heading: string, language: string): string {
  const [, code] = new RegExp(`^### ${heading}\n\n\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "m").exec(page) ?? [];
  if (!code?.includes("http://127.0.0.1:8080")) throw new Error(`the page has no program in ${heading}`);
  return code;
}

/** What happens to 2000 requests: 30% are dropped before or after they're forwarded, or midway through the response. */
function lossesOf(seed: number): (Misbehaviour | undefined)[] {
  const random = new Random(seed);
  const kinds = ["lose the request", "lose the response", "cut the response short"] as const;
  return Array.from({ length: 2000 }, () => (random.chance(0.3) ? random.pick(kinds) : undefined));
}

interface Row {
  readonly ID?: number;
  readonly ETag?: string;
  readonly Problem?: string;
  readonly Values: { Name?: string; AccountNumber?: string };
  Deleted?: boolean;
}

interface State {
  Cursor: string | null;
  Rows: Row[];
}

for (const [index, [heading, language, name, command]] of programs.entries()) {
  const code = programOf(heading, language);
  if (Bun.which(command[0] as string) === null) continue;
  describe(`the program in ${heading}`, () => {
    const own = join(folder, language);
    const stateFile = join(own, "in-step.json");
    let server: TestServer;
    let proxy: FlakyProxy;
    beforeAll(async () => {
      server = await startTestServer();
      proxy = await startFlakyProxy(server.url);
      proxy.misbehave(...lossesOf(index));
      await Bun.write(join(own, name), code.replaceAll("http://127.0.0.1:8080", proxy.url));
    });
    afterAll(async () => {
      await proxy.stop();
      await server.stop();
    });

    async function run(fails = false): Promise<string> {
      const running = Bun.spawn([...command, name], {
        cwd: own,
        env: { ...process.env, KEY: server.key },
        stdout: "pipe",
        stderr: "pipe",
      });
      const [output, complaint] = await Promise.all([running.stdout.text(), running.stderr.text()]);
      expect((await running.exited) !== 0).toBe(fails);
      if (!fails) expect(complaint).toBe("");
      return (output + complaint).trim();
    }

    const readState = (): State => JSON.parse(readFileSync(stateFile, "utf8"));
    /** Changes the table of the program's system. */
    const edit = (change: (state: State) => unknown) => {
      const state = existsSync(stateFile) ? readState() : { Cursor: null, Rows: [] };
      change(state);
      writeFileSync(stateFile, JSON.stringify(state));
    };
    const rowOf = ({ Rows }: State, account: string) =>
      Rows.find(({ Values }) => Values.AccountNumber === account) as Row;
    const listed = async (): Promise<(Row["Values"] & { ID: number })[]> =>
      (await server.call("GET", "/restapi/brands.json")).json;
    const idOf = async (account: string) => (await listed()).find((one) => one.AccountNumber === account)?.ID;
    const send = async (method: string, account: string | null, body?: object) => {
      const path = account === null ? "brands" : `brands/${await idOf(account)}`;
      expect((await server.call(method, `/restapi/${path}.json`, { body })).status).toBeLessThan(300);
    };
    const revision = async () =>
      Number((await server.call("GET", "/restapi/changes.json?since=now")).json.Next.split(".")[1]);
    /** Runs the program, and checks that both sides are equal and how many changes it stored. @returns the names by account number */
    async function runAndCompare(changes: number): Promise<Record<string, string>> {
      const before = await revision();
      await run();
      const ours = readState().Rows.map(({ Values }) => [Values.AccountNumber, Values.Name]);
      const theirs = (await listed()).map(({ AccountNumber, Name }) => [AccountNumber, Name]);
      expect(ours.sort()).toEqual(theirs.sort());
      expect((await revision()) - before).toBe(changes);
      return Object.fromEntries(theirs);
    }

    test("the first run links brands with the same number, and adds the others on both sides", async () => {
      for (let number = 1; number <= 30; number++)
        await send("POST", null, { Name: `Theirs ${number}`, AccountNumber: `A-${number}` });
      for (const account of ["A-3", "A-4"]) await send("DELETE", account);
      await send("PUT", "A-5", { Name: "Renamed" });
      edit(({ Rows }) => {
        for (let number = 28; number <= 40; number++)
          Rows.push({ Values: { Name: `Ours ${number}`, AccountNumber: `A-${number}` } });
        Rows.push({ Values: { Name: "Never sent", AccountNumber: "A-99" }, Deleted: true });
      });
      const names = await runAndCompare(10);
      expect([Object.keys(names).length, names["A-5"], names["A-30"], names["A-31"]]).toEqual([
        38,
        "Renamed",
        "Theirs 30",
        "Ours 31",
      ]);
      await runAndCompare(0);
    });

    test("later runs carry changes and deletes both ways, and merge what both sides have changed", async () => {
      for (const account of ["A-1", "A-2", "A-6"]) await send("PUT", account, { Name: `Site ${account}` });
      for (const account of ["A-7", "A-8"]) await send("DELETE", account);
      await send("PUT", "A-9", { AccountNumber: "B-9" });
      await send("POST", null, { Name: "New there", AccountNumber: "B-1" });
      edit((state) => {
        for (const account of ["A-2", "A-8", "A-9", "A-10"]) rowOf(state, account).Values.Name = `Here ${account}`;
        for (const account of ["A-6", "A-11", "A-12"]) rowOf(state, account).Deleted = true;
        state.Rows.push({ Values: { Name: "New here", AccountNumber: "B-2" } });
      });
      const names = await runAndCompare(5);
      const some = ["A-1", "A-2", "A-6", "A-7", "A-8", "B-9", "A-10", "A-11", "A-12", "B-1", "B-2"];
      expect(some.map((account) => names[account])).toEqual([
        "Site A-1",
        // The site wins if both have changed the same field, and if one has deleted what the other has changed.
        "Site A-2",
        "Site A-6",
        undefined,
        undefined,
        "Here A-9",
        "Here A-10",
        undefined,
        undefined,
        "New there",
        "New here",
      ]);
      await runAndCompare(0);
    });

    test("a change between the pull and the push isn't overwritten or deleted", async () => {
      edit((state) => {
        rowOf(state, "A-13").Values.Name = "Here";
        rowOf(state, "A-14").Deleted = true;
        rowOf(state, "A-15").Values.AccountNumber = "B-15";
        rowOf(state, "A-16").Values.Name = "Here";
      });
      let hasChanged = false;
      proxy.beforeEach(async (request) => {
        if (hasChanged || !request.startsWith("POST")) return;
        hasChanged = true;
        for (const account of ["A-13", "A-14", "A-15"]) await send("PUT", account, { Name: "There" });
        await send("DELETE", "A-16");
      });
      // Four of them are ours.
      const names = await runAndCompare(5);
      expect(["A-13", "A-14", "B-15", "A-16"].map((account) => names[account])).toEqual([
        "There",
        "There",
        "There",
        undefined,
      ]);
      expect(hasChanged).toBe(true);
    });

    test("a run that was stopped before it saved the results is repeated without writing twice", async () => {
      edit((state) => {
        rowOf(state, "A-17").Values.Name = "Once";
        rowOf(state, "A-18").Deleted = true;
        state.Rows.push({ Values: { Name: "Once", AccountNumber: "C-1" } });
      });
      cpSync(stateFile, `${stateFile}.before`);
      await runAndCompare(3);
      cpSync(`${stateFile}.before`, stateFile);
      await runAndCompare(0);
    });

    test("a cursor that no longer works, also if the first changes have been pruned", async () => {
      await send("DELETE", "A-19");
      await send("PUT", "A-20", { Name: "There" });
      const lostCursor = (state: State) => {
        state.Cursor = "000000000000.1";
        rowOf(state, "A-21").Values.Name = `Here ${state.Rows.length}`;
      };
      edit(lostCursor);
      expect((await runAndCompare(1))["A-20"]).toBe("There");
      await send("DELETE", "A-20");
      await server.engine.pruneJournal(server.site.ID, await revision(), 10_000);
      edit(lostCursor);
      expect((await runAndCompare(1))["A-20"]).toBeUndefined();
      rmSync(stateFile);
      await runAndCompare(0);
    });

    test("a deleted row doesn't delete a brand that someone has created again", async () => {
      edit((state) => {
        rowOf(state, "A-22").Deleted = true;
      });
      let hasCreated = false;
      proxy.beforeEach(async (request) => {
        if (hasCreated || !request.startsWith("GET") || (await idOf("A-22")) !== undefined) return;
        hasCreated = true;
        await send("POST", null, { Name: "Theirs 22", AccountNumber: "A-22" });
      });
      expect((await runAndCompare(2))["A-22"]).toBe("Theirs 22");
      expect(hasCreated).toBe(true);
    });

    test("brands without a number aren't taken for each other", async () => {
      edit(({ Rows }) => Rows.push({ Values: { Name: "No number here" } }));
      await send("POST", null, { Name: "No number there" });
      expect(await run()).toContain("a value is required");
      const names = readState().Rows.map(({ Values }) => Values.Name);
      expect(names).toEqual(expect.arrayContaining(["No number here", "No number there"]));
      edit((state) => {
        state.Rows = state.Rows.filter(({ ID }) => ID !== undefined);
      });
      await runAndCompare(0);
    });

    test("a key of another site, which has the same IDs or none of them, changes no rows", async () => {
      const ids = readState().Rows.map(({ ID }) => ID as number);
      for (const toOther of [(at: number) => ids[at - 1], (at: number) => 1000 + at]) {
        edit((state) => {
          state.Cursor = "000000000000.1";
          state.Rows = state.Rows.map((row, at) => (at % 3 === 0 ? row : { ...row, ID: toOther(at) as number }));
        });
        const before = readState();
        expect(await run(true)).toContain("brands are gone or different: is this the right site?");
        expect(readState()).toEqual(before);
      }
      rmSync(stateFile);
    });

    test("a row that the server rejects is reported, and the others are sent", async () => {
      edit(({ Rows }) => {
        Rows.push({ Values: { Name: "", AccountNumber: "D-1" } }, { Values: { Name: "Fine", AccountNumber: "D-2" } });
      });
      for (const sent of [2, 1]) {
        const [summary, problem] = (await run()).split("\n");
        expect(summary).toEndWith(` brands, ${sent} sent`);
        expect(problem).toStartWith("D-1 ");
      }
      expect(await idOf("D-2")).toBeNumber();
      edit((state) => {
        rowOf(state, "D-1").Values.Name = "Fixed";
      });
      await runAndCompare(1);
    });
  });
}
