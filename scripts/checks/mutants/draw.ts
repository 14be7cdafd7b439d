// Draws mutants, which are small changes to the source that some test should notice.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Node, type SourceFile, SyntaxKind } from "typescript/unstable/ast";
import { API, type Project } from "typescript/unstable/async";
import { candidatesAt } from "./candidates.ts";
import { type Marker, markerOf } from "./markers.ts";

export interface Mutant {
  /** Path from the checkout's root. */
  readonly file: string;
  readonly line: number;
  /** The replaced text goes from `start` up to `end`. */
  readonly start: number;
  readonly end: number;
  readonly was: string;
  readonly becomes: string;
  /** Where the marker goes; undefined for code that runs when the file is loaded. */
  readonly marker: Marker | undefined;
}

export interface DrawOptions {
  readonly root: string;
  /** Path of these files' `tsconfig.json`, from the root. */
  readonly project: string;
  /** Paths from the root. */
  readonly files: readonly string[];
  readonly seed: number;
  readonly count: number;
}

/** Draws up to `count` mutants that pass the type check. The same options and source give the same mutants. */
export async function drawMutants({ root, project, files, seed, count }: DrawOptions): Promise<Mutant[]> {
  const overlay = new Map<string, string>();
  const api = new API({ cwd: root, fs: { readFile: (name) => overlay.get(name) } });
  const opened = (changed: string[] = []) =>
    api.updateSnapshot({ openProjects: [join(root, project)], fileChanges: { changed } });
  try {
    const [all] = (await opened()).getProjects();
    const mutants = shuffled(await mutantsIn(all as Project, root, files), seed);
    const drawn: Mutant[] = [];
    for (const mutant of mutants) {
      if (drawn.length === count) break;
      const path = join(root, mutant.file);
      overlay.set(path, mutated(readFileSync(path, "utf8"), mutant));
      const [checked] = (await opened([path])).getProjects();
      const errors = await (checked as Project).program.getSemanticDiagnostics(path);
      if (errors.length === 0) drawn.push(mutant);
      overlay.delete(path);
      await opened([path]);
    }
    return drawn;
  } finally {
    await api.close();
  }
}

/** Returns a file's text with the mutant applied. */
export function mutated(text: string, { start, end, becomes }: Mutant): string {
  return text.slice(0, start) + becomes + text.slice(end);
}

async function mutantsIn(project: Project, root: string, files: readonly string[]): Promise<Mutant[]> {
  const found: Mutant[] = [];
  for (const file of files) {
    const source = await project.program.getSourceFile(join(root, file));
    if (source) found.push(...mutantsOf(source, file));
  }
  return found;
}

function mutantsOf(source: SourceFile, file: string): Mutant[] {
  const found: Mutant[] = [];
  const visit = (node: Node): void => {
    // Types aren't executed.
    if (node.kind === SyntaxKind.InterfaceDeclaration || node.kind === SyntaxKind.TypeAliasDeclaration) return;
    for (const { start, end, becomes } of candidatesAt(node, source)) {
      const line = source.text.slice(0, start).split("\n").length;
      found.push({
        file,
        line,
        start,
        end,
        was: source.text.slice(start, end),
        becomes,
        marker: markerOf(node, source),
      });
    }
    node.forEachChild(visit);
  };
  visit(source);
  return found;
}

/** A Fisher-Yates shuffle with a small random generator (mulberry32), so that a seed gives the same order everywhere. */
function shuffled<T>(values: readonly T[], seed: number): T[] {
  let state = seed >>> 0;
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const result = [...values];
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [result[last], result[other]] = [result[other] as T, result[last] as T];
  }
  return result;
}
