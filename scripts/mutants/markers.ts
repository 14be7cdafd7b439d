// Markers report which mutants a test file reaches, in this process and in those that it starts, so that a mutant is tried only with tests that run it.

import { type Node, type SourceFile, SyntaxKind } from "typescript/unstable/ast";
import { isArrowFunction, isBlock } from "typescript/unstable/ast/is";

/** An expression to wrap, or a statement to write something before. */
export interface Marker {
  readonly start: number;
  /** Undefined for a statement. */
  readonly end?: number;
}

/** The name of the module with the function that a marker calls, at the root of a marked copy. */
export const reachedModule = "reached.ts";

/** The environment variable with the folder in which each reached mutant gets a file. */
export const reachedFolder = "MUTANTS_REACHED";

export const reachedSource = `import { writeFileSync } from "node:fs";
const folder = process.env.${reachedFolder};
const known = new Set();
export function reached(mutant) {
  if (!folder || known.has(mutant)) return;
  known.add(mutant);
  writeFileSync(folder + "/" + mutant, "");
}
`;

/** Returns where to mark that `node` is about to run: the statement or the arrow function's expression that it is part of. */
export function markerOf(node: Node, source: SourceFile): Marker | undefined {
  for (let at = node; at.parent; at = at.parent) {
    if (isArrowFunction(at.parent) && at.parent.body === at && !isBlock(at))
      return { start: at.getStart(source), end: at.end };
    if (isBlock(at.parent) || at.parent.kind === SyntaxKind.CaseClause) return { start: at.getStart(source) };
  }
  return undefined;
}

/** Returns the text of a file that reports each of these mutants when it is reached. @param module the path of the module from the file */
export function marked(text: string, module: string, markers: readonly { marker: Marker; mutant: number }[]): string {
  const insertions = markers.flatMap(({ marker: { start, end }, mutant }) =>
    end === undefined
      ? [{ at: start, text: `__reached(${mutant}); ` }]
      : [
          { at: start, text: `(__reached(${mutant}), ` },
          { at: end, text: ")" },
        ],
  );
  let result = text;
  for (const { at, text: inserted } of insertions.sort((a, b) => b.at - a.at))
    result = result.slice(0, at) + inserted + result.slice(at);
  return `import { reached as __reached } from "${module}";\n${result}`;
}
