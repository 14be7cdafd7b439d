// The rules of the source layout: imports, exports and names.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { publicResources } from "../src/model/resource.ts";
import { allResources } from "../src/resources/all.ts";
import { importsOf, sources } from "./support/sources.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const src = join(root, "src");

/** The parts of `src` and what each may import. Arrows are transitive. A new folder needs a line here. */
const arrows: Record<string, readonly string[]> = {
  lib: [],
  model: ["lib"],
  resources: ["model"],
  formats: ["model"],
  reference: ["formats"],
  wire: ["lib"],
  "store/memory": ["model"],
  "store/database": ["model"],
  "store/reads": ["store/memory", "store/database"],
  "store/writes": ["store/reads"],
  "store/changes": ["store/database"],
  "store/sqlite": ["store/writes"],
  "store/postgres": ["store/writes"],
  store: ["model"],
  system: ["store/reads", "resources"],
  webhooks: ["system", "store/changes", "formats"],
  operator: ["webhooks", "store/writes"],
  "http/common": ["wire", "formats"],
  http: ["http/common", "system", "store", "store/writes", "store/changes", "reference", "build"],
  admin: ["http/common", "operator"],
  console: [],
  client: [],
  config: ["model"],
  build: [],
  start: ["http", "admin", "webhooks", "store", "config"],
  commands: ["start", "operator", "store"],
  main: ["commands"],
};

/** The layers of the console: its folders, and what each may import. Arrows are transitive. All folders between `find` and `frame` are pages. */
const consoleArrows: Record<string, readonly string[]> = {
  text: [],
  api: ["text"],
  shell: ["api"],
  session: ["shell"],
  find: ["shell"],
  import: ["history"],
  history: ["keys"],
  keys: ["shell"],
  operators: ["shell"],
  overview: ["history"],
  records: ["history"],
  requests: ["shell"],
  sites: ["shell"],
  webhooks: ["shell"],
  frame: ["session", "find", "import", "operators", "overview", "records", "requests", "sites", "webhooks"],
};

/** A part and every part that its arrows reach. */
function reach(part: string, all: Record<string, readonly string[]> = arrows): string[] {
  return [part, ...(all[part] ?? []).flatMap((next) => reach(next, all))];
}

/** Whether one of two files may import the other. Engines that mirror each other may not, and have the same names. */
function canSee(one: string, other: string): boolean {
  return reach(partOf(one)).includes(partOf(other)) || reach(partOf(other)).includes(partOf(one));
}

/** Files that may import more than their part. */
const importExceptions: Record<string, readonly string[]> = {
  "store/open.ts": ["store/sqlite", "store/postgres"],
  // It bundles the console, and imports nothing of it.
  "admin/console-build.ts": ["console"],
};

/** The files whose types a part may import although it has no arrow to their part. Nothing of them is in a bundle. */
const sharedTypes: Record<string, readonly string[]> = { console: ["admin/api/record-types.ts", "admin/api/types.ts"] };

/** Files that list the resources, and why. Everything else derives from `allResources`. */
const listExceptions: Record<string, string> = {
  "src/client/record-types.ts": "generated from allResources",
  "src/console/shell/icons.tsx": "icons, which the console can do without",
  "src/operator/demo.ts": "sample records, which the server can do without",
  "src/resources/all.ts": "the list",
  "test/engine/base-version.test.ts": "what an earlier version stored",
  "test/generated/drivers/openapi-fetch.ts": "a program that a generator's user would write",
  "test/generated/models.test.ts": "a program that a generator's user would write",
  "test/interface/golden.test.ts": "a record of each resource, beside its golden files",
  "test/interface/mistakes.test.ts": "mistaken paths",
  "test/operator/find.test.ts": "records that have each kind of text that is searched for",
};

/** Files of `test/`, besides `test/support/`, that may have `Bun.sleep` or `setTimeout`, and why. */
const sleepExceptions: Record<string, string> = {
  "test/command-line/changing-file.test.ts": "the text of a program that the test runs",
  "test/house.test.ts": "this rule",
  "test/simulation/machine.ts": "replaces these functions",
};

/** Parts in which files may import types of each other. Remove a part when you can; add none. */
const partsWithTypeCycles: readonly string[] = ["formats", "client", "commands"];

function withoutTypes(text: string): string {
  return text.replaceAll(/^import type\b[^;]*;/gms, "");
}

/** `store/sqlite` for store/sqlite/engine.ts, `http` for http/server.ts, `operator` for operator/import/job/upload.ts, `main` for main.ts. */
function partOf(file: string): string {
  const folder = dirname(file);
  if (folder === ".") return file.replace(/\.tsx?$/, "");
  return folder in arrows || !folder.includes("/") ? folder : partOf(folder);
}

/** The names that a file declares with `export`. */
function exportedNames(text: string): string[] {
  const declared =
    /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type) (\w+)/gm;
  return [...new Set([...text.matchAll(declared)].map(([, name]) => name as string))];
}

/** `store/writes/batch.ts decideBatch` for each name that a file imports or exports again; `*` stands for all. */
function importedNames(file: string, text: string): string[] {
  const clauses = text.matchAll(/^(?:import|export)\b(?: type)? ([^;"]*?)\bfrom "(\.[^"]+)"/gms);
  const dynamic = text.matchAll(/(\{[^}]*\} = await |\b)import\("(\.[^"]+)"\)/g);
  return [...clauses, ...dynamic].flatMap(([, clause = "", path = ""]) => {
    const source = relative(src, join(src, dirname(file), path));
    const names =
      clause === "" || clause.includes("*") ? ["*"] : (clause.match(/\w+(?= as )|\b(?!type\b|as\b|await\b)\w+/g) ?? []);
    return names.map((name) => `${source} ${name}`);
  });
}

describe("the source layout", () => {
  test("has a rule for each of its parts", () => {
    expect([...new Set(sources.map(({ file }) => partOf(file)))].filter((part) => !(part in arrows))).toEqual([]);
  });

  test("has no rule for a part that does not exist", () => {
    const parts = new Set(sources.map(({ file }) => partOf(file)));
    expect(Object.keys(arrows).filter((part) => !parts.has(part))).toEqual([]);
  });

  test("every import follows an arrow", () => {
    const faults = sources.flatMap(({ file, text, imports }) => {
      const own = partOf(file);
      const allowed = [...reach(own), ...(importExceptions[file] ?? [])];
      const values = importsOf(file, withoutTypes(text));
      const isShared = (path: string) => sharedTypes[own]?.includes(path) && !values.includes(path);
      return imports
        .filter((path) => !allowed.includes(partOf(path)) && !isShared(path))
        .map((path) => `${file} imports ${path}`);
    });
    expect(faults).toEqual([]);
  });

  test("every import between folders of the console follows an arrow; app.tsx and main.tsx connect them", () => {
    const folderOf = (file: string) => /^console\/([^/]+)\//.exec(file)?.[1];
    const inFolders = sources.flatMap(({ file, imports }) => {
      const folder = folderOf(file);
      return folder
        ? imports.filter((path) => path.startsWith("console/")).map((path) => ({ folder, file, path }))
        : [];
    });
    expect(new Set(inFolders.map(({ folder }) => folder))).toEqual(new Set(Object.keys(consoleArrows)));
    const faults = inFolders.filter(
      ({ folder, path }) =>
        !(folder === "text" && path === "console/texts.ts") &&
        !reach(folder, consoleArrows).includes(folderOf(path) ?? "no folder"),
    );
    expect(faults.map(({ file, path }) => `${file} imports ${path}`)).toEqual([]);
  });

  test("a file of shared types imports nothing and has no values", () => {
    const shared = sources.filter(({ file }) => Object.values(sharedTypes).flat().includes(file));
    expect(shared.map(({ file }) => file)).toEqual(Object.values(sharedTypes).flat());
    const declared = shared.flatMap(({ text }) => text.match(/^(?:import|export) \w+/gm));
    expect(new Set(declared)).toEqual(new Set(["export interface", "export type"]));
  });

  test("docs/architecture.md has the arrows too", () => {
    const rows = readFileSync(join(root, "docs/architecture.md"), "utf8").matchAll(
      /^\| `([a-z/]+)` \|[^|]*\|([^|]*)\|$/gm,
    );
    const documented = [...rows].map(([, part = "", list = ""]): [string, string[]] => [
      part,
      [...list.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
    ]);
    expect(Object.fromEntries(documented)).toEqual(arrows as Record<string, string[]>);
  });

  test("only the wiring opens an engine", () => {
    const opens = sources.filter(({ imports }) => imports.includes("store/open.ts")).map(({ file }) => partOf(file));
    expect([...new Set(opens)].sort()).toEqual(["commands", "start"]);
  });

  test("imports form no cycle; type imports do not count, since they are erased", () => {
    const graph = new Map(sources.map(({ file, text }) => [file, importsOf(file, withoutTypes(text))]));
    expect(cyclesIn(graph)).toEqual([]);
  });

  test("type imports form no cycle either, so that each file can be read after its imports", () => {
    const graph = new Map(
      sources
        .filter(({ file }) => !partsWithTypeCycles.includes(partOf(file)))
        .map(({ file, imports }) => [file, imports]),
    );
    expect(graph.size).toBeGreaterThan(200);
    expect(cyclesIn(graph)).toEqual([]);
  });

  test("each part that may have cycles of type imports has one", () => {
    const graph = new Map(sources.map(({ file, imports }) => [file, imports]));
    const parts = cyclesIn(graph).map((cycle) => partOf(cycle.split(" -> ")[0] as string));
    expect([...new Set(parts)].sort()).toEqual([...partsWithTypeCycles].sort());
  });

  test("only a server that starts loads the code of servers, so that commands start quickly", () => {
    const loads = (file: string, text: string) => importsOf(file, withoutTypes(text).replaceAll("import(", "("));
    const graph = new Map(sources.map(({ file, text }) => [file, loads(file, text)]));
    const partsOf = (files: readonly string[]): string[] => {
      const loaded = new Set(files);
      for (const file of loaded) for (const next of graph.get(file) ?? []) loaded.add(next);
      return [...loaded].map(partOf);
    };
    const definitions = sources.find(({ file }) => file === "commands/program.ts")?.imports ?? [];
    expect(definitions).toContain("commands/serve.ts");
    expect(partsOf(["commands/processes/serve.ts"])).toContain("http");
    const heavy = ["http", "admin", "start", "store/sqlite", "store/postgres"];
    expect(partsOf(["main.ts", ...definitions]).filter((part) => heavy.includes(part))).toEqual([]);
  });

  test("nothing is exported as default", () => {
    expect(
      sources.filter(({ text }) => /^export default|export \{[^}]*\bas default\b/m.test(text)).map(({ file }) => file),
    ).toEqual([]);
  });

  test("a test waits for an event; only test/support has functions that wait for a time", () => {
    const waiting = [...new Bun.Glob("test/**/*.{ts,tsx,mjs}").scanSync(root)]
      .filter((file) => !file.includes("node_modules/") && !file.startsWith("test/support/"))
      .filter((file) => /\bBun\.sleep|\bsetTimeout\b/.test(readFileSync(join(root, file), "utf8")));
    expect(waiting.sort()).toEqual(Object.keys(sleepExceptions).sort());
  });

  test("a test of test/machines is named after a source file in the same folder, or its first lines name the file", () => {
    const faults = [...new Bun.Glob("**/*.test.ts").scanSync(join(root, "test/machines"))].filter((file) => {
      const subject = file.replace(/\.test\.ts$/, "");
      const [comment = ""] = /^(?:\/\/.*\n)+/.exec(readFileSync(join(root, "test/machines", file), "utf8")) ?? [];
      return !sources.some(
        ({ file: source }) => source.replace(/\.tsx?$/, "") === subject || comment.includes(`src/${source}`),
      );
    });
    expect(faults).toEqual([]);
  });

  test("only config.ts reads the environment", () => {
    const readers = sources.filter(({ text }) => /process\.env|Bun\.env|import\.meta\.env/.test(text));
    expect(readers.map(({ file }) => file)).toEqual(["config.ts"]);
  });

  test("on PostgreSQL, one file commits", () => {
    const committing = sources.filter(
      ({ file, text }) =>
        file.startsWith("store/postgres/") && /\bsql\.commit|; commit["'`;]|\(["'`]commit["'`]/.test(text),
    );
    const texts = "store/postgres/statements.ts";
    expect(committing.map(({ file }) => file)).toEqual([texts, "store/postgres/transaction.ts"]);
  });

  test("every export has a user in another file of src, or in a test, a script or a benchmark", () => {
    const others = [...new Bun.Glob("{test,scripts,bench}/**/*.{ts,tsx,mjs}").scanSync(root)]
      .filter((file) => !file.includes("node_modules/"))
      .map((file) => ({ file: join("..", file), text: readFileSync(join(root, file), "utf8") }));
    const used = new Set([...sources, ...others].flatMap(({ file, text }) => importedNames(file, text)));
    const unused = sources
      .flatMap(({ file, text }) => exportedNames(text).map((name) => `${file} ${name}`))
      .filter((name) => !used.has(name) && !used.has(name.replace(/ .*/, " *")));
    expect(unused).toEqual([]);
  });

  test("no two exported names are alike in parts of which one can import the other", () => {
    const files = new Map<string, string[]>();
    for (const { file, text } of sources)
      for (const name of exportedNames(text)) files.set(name, [...(files.get(name) ?? []), file]);
    const alike = [...files].filter(([, all]) =>
      all.some((one, i) => all.slice(i + 1).some((other) => canSee(one, other))),
    );
    expect(alike).toEqual([]);
  });

  test("only resources/all.ts lists the resources", () => {
    const all = [...new Bun.Glob("{src,test,bench,scripts}/**/*.{ts,tsx,mjs}").scanSync(root)]
      .filter((file) => !file.includes("node_modules/"))
      .filter((file) => listsResources(readFileSync(join(root, file), "utf8")));
    expect(all.sort()).toEqual(Object.keys(listExceptions).sort());
  });
});

/** The cycles in a graph of imports, each once. */
function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) return void cycles.push([...path.slice(path.indexOf(file)), file].join(" -> "));
    if (done.has(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return cycles;
}

/** Whether the names of three or more served resources are within three lines. */
function listsResources(text: string): boolean {
  const names = publicResources(allResources).map(
    ({ name, path }) => new RegExp(`\\b(?:${name}|${path}|${path.slice(0, -1)}|${name.replace("-", "")})\\b`, "i"),
  );
  const lines = text.split("\n");
  return lines.some((_, i) => {
    const near = lines.slice(i, i + 3).join("\n");
    return names.filter((name) => name.test(near)).length > 2;
  });
}
