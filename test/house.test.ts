// Who may import whom, and what else holds everywhere in `src`.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const src = fileURLToPath(new URL("../src", import.meta.url));

/** The parts of `src`, and the other parts that each may import; what those may import, it may import too. A new folder needs a line here. */
const arrows: Record<string, readonly string[]> = {
  lib: [],
  model: ["lib"],
  resources: ["model"],
  formats: ["model"],
  reference: ["formats"],
  wire: ["lib"],
  store: ["store/memory"],
  "store/memory": ["model"],
  "store/sqlite": ["store"],
  "store/postgres": ["store"],
  operator: ["store", "formats", "resources"],
  http: ["wire", "store", "formats", "reference", "resources"],
  client: [],
  config: ["model"],
  start: ["http", "wire", "store", "resources", "config"],
  commands: ["start", "operator"],
  main: ["commands"],
};

/** A part and every part that its arrows reach. */
function reach(part: string): string[] {
  return [part, ...(arrows[part] ?? []).flatMap(reach)];
}

/** Files that may reach further than their part. */
const exceptions: Record<string, readonly string[]> = { "store/open.ts": ["store/sqlite", "store/postgres"] };

interface Source {
  readonly file: string;
  readonly text: string;
  /** The files of `src` that it imports, types included. */
  readonly imports: readonly string[];
}

const sources: Source[] = [...new Bun.Glob("**/*.{ts,tsx}").scanSync(src)]
  .filter((file) => !file.endsWith(".d.ts"))
  .sort()
  .map((file) => {
    const text = readFileSync(join(src, file), "utf8");
    return { file, text, imports: importsOf(file, text) };
  });

function importsOf(file: string, text: string): string[] {
  const named = [...text.matchAll(/^(?:import|export)\b[^;]*?\bfrom\s+"(\.[^"]+)"/gms)].map(
    ([, path]) => path as string,
  );
  const other = [...text.matchAll(/(?:\bimport\(|new URL\()"(\.[^"]+\.tsx?)"/g)].map(([, path]) => path as string);
  return [...named, ...other]
    .map((path) => relative(src, join(src, dirname(file), path)))
    .filter((path) => !path.startsWith("..") && /\.tsx?$/.test(path));
}

function withoutTypes(text: string): string {
  return text.replaceAll(/^import type\b[^;]*;/gms, "");
}

/** `store/sqlite` for store/sqlite/engine.ts, `http` for http/server.ts, `main` for main.ts. */
function partOf(file: string): string {
  const folder = dirname(file);
  if (folder === ".") return file.replace(/\.tsx?$/, "");
  return folder in arrows ? folder : (folder.split("/")[0] as string);
}

describe("the source layout", () => {
  test("has a rule for each of its parts", () => {
    expect([...new Set(sources.map(({ file }) => partOf(file)))].filter((part) => !(part in arrows))).toEqual([]);
  });

  test("has no rule for a part that does not exist", () => {
    const parts = new Set(sources.map(({ file }) => partOf(file)));
    expect(Object.keys(arrows).filter((part) => !parts.has(part))).toEqual([]);
  });

  test("nobody imports whom it may not", () => {
    const faults = sources.flatMap(({ file, imports }) => {
      const own = partOf(file);
      const allowed = [...reach(own), ...(exceptions[file] ?? [])];
      return imports.filter((path) => !allowed.includes(partOf(path))).map((path) => `${file} imports ${path}`);
    });
    expect(faults).toEqual([]);
  });

  test("only the wiring opens an engine", () => {
    const opens = sources.filter(({ imports }) => imports.includes("store/open.ts")).map(({ file }) => partOf(file));
    expect([...new Set(opens)].sort()).toEqual(["commands", "start"]);
  });

  test("nothing is imported in a circle, but for types, which are gone when the program runs", () => {
    const graph = new Map(sources.map(({ file, text }) => [file, importsOf(file, withoutTypes(text))]));
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) return void circles.push([...path.slice(path.indexOf(file)), file].join(" -> "));
      if (done.has(file)) return;
      for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
      done.add(file);
    };
    for (const { file } of sources) visit(file, []);
    expect(circles).toEqual([]);
  });

  test("nothing is exported as default", () => {
    expect(
      sources.filter(({ text }) => /^export default|export \{[^}]*\bas default\b/m.test(text)).map(({ file }) => file),
    ).toEqual([]);
  });

  test("only config.ts reads the environment", () => {
    const readers = sources.filter(({ text }) => /process\.env|Bun\.env|import\.meta\.env/.test(text));
    expect(readers.map(({ file }) => file)).toEqual(["config.ts"]);
  });

  test("every section that a comment cites is a heading of that page", () => {
    const cited = cites("{src,test,scripts,bench}/**/*.{ts,mjs,sql}");
    expect(cited.length).toBeGreaterThan(10);
    expect(cited.filter(({ page, section }) => !headings(page).has(section))).toEqual([]);
  });

  test("a resource is data: the parts that serve name none", () => {
    const naming = sources.filter(({ file, imports }) => {
      const named = imports.filter((path) => /^resources\/(brand|order-status|location)\.ts$/.test(path));
      return named.length > 0 && !["resources/all.ts", "operator/demo.ts"].includes(file);
    });
    expect(naming.map(({ file }) => file)).toEqual([]);
  });
});

/** Each "contract section 3" and "interface 2.4 and 2.5" in the comments of the files that match `pattern`. */
function cites(pattern: string): { file: string; page: string; section: string }[] {
  const root = join(src, "..");
  return [...new Bun.Glob(pattern).scanSync(root)]
    .filter((file) => !file.includes("node_modules/"))
    .flatMap((file) => {
      const text = readFileSync(join(root, file), "utf8").replaceAll(/\n\s*(?:\*|\/\/)\s*/g, " ");
      const found = text.matchAll(
        /\b(contract|interface)(?: sections?)? ([0-9](?:[0-9.]|, (?=[0-9])| and (?=[0-9]))*)/g,
      );
      return [...found].flatMap(([, page = "", sections = ""]) =>
        sections.split(/, | and /).map((section) => ({ file, page, section: section.replace(/\.$/, "") })),
      );
    });
}

/** The numbers of a page's headings. */
function headings(page: string): ReadonlySet<string> {
  const text = readFileSync(join(src, "../docs", `${page}.md`), "utf8");
  return new Set([...text.matchAll(/^#+ ([0-9][0-9.]*?)\.? /gm)].map(([, number]) => number as string));
}
