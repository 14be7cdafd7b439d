// Imports follow the arrows of docs/architecture.md, and every export has a user.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import {
  isAwaitExpression,
  isExportDeclaration,
  isIdentifier,
  isImportDeclaration,
  isNamedExports,
  isNamedImports,
  isObjectBindingPattern,
  isVariableDeclaration,
  isVariableStatement,
  type Node,
  type SourceFile,
  SyntaxKind,
} from "typescript/unstable/ast";
import { API } from "typescript/unstable/async";

interface Import {
  /** From the root of the repository. */
  readonly path: string;
  /** The names that are imported; `*` stands for all. */
  readonly names: readonly string[];
  readonly isTypeOnly: boolean;
}

interface Parsed {
  readonly file: string;
  readonly imports: readonly Import[];
  readonly exports: readonly string[];
}

const root = join(import.meta.dir, "..");
const projects = ["tsconfig.json", "src/console/tsconfig.json", "test/machines/console/tsconfig.json"];

/** Files that may import more than their part. */
const importExceptions: Record<string, readonly string[]> = {
  "src/store/open.ts": ["store/sqlite", "store/postgres"],
  // It bundles the console, and imports nothing of it.
  "src/admin/console-build.ts": ["console"],
};

/** The files whose types the console may import. Nothing of them is in its bundle. */
const sharedTypes = ["src/admin/api/record-types.ts", "src/admin/api/types.ts"];

/** The parts of `src` and what each may import, as the table of docs/architecture.md has them. */
const arrows = new Map(
  [...readFileSync(join(root, "docs/architecture.md"), "utf8").matchAll(/^\| `([a-z/]+)` \|[^|]*\|([^|]*)\|$/gm)].map(
    ([, part = "", list = ""]) => [part, [...list.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name)],
  ),
);

const api = new API({ cwd: root });
afterAll(() => api.close());

const files = new Map<string, Parsed>();
const inSource: Parsed[] = [];
beforeAll(async () => {
  const snapshot = await api.updateSnapshot({ openProjects: projects.map((each) => join(root, each)) });
  for (const { program } of snapshot.getProjects())
    for (const name of await program.getSourceFileNames()) {
      const file = relative(root, name);
      if (file.startsWith("..") || file.includes("node_modules/") || file.endsWith(".d.ts") || files.has(file))
        continue;
      files.set(file, parse(file, (await program.getSourceFile(name)) as SourceFile));
    }
  inSource.push(...[...files.values()].filter(({ file }) => file.startsWith("src/")));
}, 60_000);

test("every part of the source is in the table of docs/architecture.md, and every part in the table exists", () => {
  const parts = new Set(inSource.map(({ file }) => partOf(file)));
  expect([...parts].sort()).toEqual([...arrows.keys()].sort());
});

test("every import follows an arrow", () => {
  const faults = inSource.flatMap(({ file, imports }) => {
    const own = partOf(file);
    const allowed = [...reach(own), ...(importExceptions[file] ?? [])];
    return imports
      .filter(({ path }) => path.startsWith("src/") && !allowed.includes(partOf(path)))
      .filter(({ path, isTypeOnly }) => !(own === "console" && isTypeOnly && sharedTypes.includes(path)))
      .map(({ path }) => `${file} imports ${path}`);
  });
  expect(faults).toEqual([]);
});

test("every export is used in another file", () => {
  const used = new Set(
    [...files.values()].flatMap(({ imports }) =>
      imports.flatMap(({ path, names }) => names.map((name) => `${path} ${name}`)),
    ),
  );
  const unused = inSource.flatMap(({ file, exports }) =>
    exports.filter((name) => !used.has(`${file} ${name}`) && !used.has(`${file} *`)).map((name) => `${file} ${name}`),
  );
  expect(unused).toEqual([]);
});

function parse(file: string, source: SourceFile): Parsed {
  const imports = source.imports.flatMap((specifier): Import[] => {
    const { text } = specifier as Node & { text: string };
    if (!text.startsWith(".")) return [];
    const path = join(dirname(file), text);
    return [{ path, names: namesOf(specifier.parent), isTypeOnly: isTypeOnly(specifier.parent) }];
  });
  const exports = source.statements.flatMap((statement) => {
    const { modifiers = [], name } = statement as Node & { modifiers?: readonly Node[]; name?: Node };
    if (!modifiers.some(({ kind }) => kind === SyntaxKind.ExportKeyword)) return [];
    const names = isVariableStatement(statement)
      ? statement.declarationList.declarations.map((each) => each.name as Node)
      : [name];
    return names.flatMap((each) => (each && isIdentifier(each) ? [each.text] : []));
  });
  return { file, imports, exports };
}

/** The names that a statement or an `import()` imports. */
function namesOf(node: Node): string[] {
  if (isImportDeclaration(node)) {
    const bindings = node.importClause?.namedBindings;
    if (bindings && isNamedImports(bindings))
      return bindings.elements.map((each) => (each.propertyName ?? each.name).text);
  } else if (isExportDeclaration(node)) {
    if (node.exportClause && isNamedExports(node.exportClause))
      return node.exportClause.elements.map((each) => (each.propertyName ?? each.name).text);
  } else if (isAwaitExpression(node.parent) && isVariableDeclaration(node.parent.parent)) {
    const { name } = node.parent.parent;
    if (isObjectBindingPattern(name))
      return name.elements.map((each) => ((each.propertyName ?? each.name) as Node & { text: string }).text);
  }
  return ["*"];
}

function isTypeOnly(node: Node): boolean {
  if (isImportDeclaration(node)) return node.importClause?.phaseModifier === SyntaxKind.TypeKeyword;
  return isExportDeclaration(node) && node.isTypeOnly;
}

/** `store/sqlite` for src/store/sqlite/engine.ts, `http` for src/http/server.ts, `main` for src/main.ts. */
function partOf(file: string): string {
  const path = file.replace(/^src\//, "");
  const folder = dirname(path);
  if (folder === ".") return path.replace(/\.tsx?$/, "");
  return arrows.has(folder) || !folder.includes("/") ? folder : partOf(folder);
}

/** A part and every part that its arrows reach. */
function reach(part: string): string[] {
  return [part, ...(arrows.get(part) ?? []).flatMap(reach)];
}
