// Markers report which mutants a test file reaches, including in processes it starts, so that a mutant is only tried with tests that execute it.

import { type Node, type SourceFile, SyntaxKind } from "typescript/unstable/ast";
import { isArrowFunction, isBlock } from "typescript/unstable/ast/is";

/** Where a marker goes: around an expression or before a statement. */
export interface Marker {
  readonly start: number;
  /** Where the expression ends; undefined for a statement. */
  readonly end?: number;
}

/** The module with the function that markers call. It's in `src`, because some tests copy only that folder. */
export const reachedModule = "src/reached.ts";

/** Environment variable with the folder where markers create a file for each mutant they reach. */
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

/** Returns where the marker for `node` goes: the statement, or the arrow function's expression, around it. */
export function markerOf(node: Node, source: SourceFile): Marker | undefined {
  for (let at = node; at.parent; at = at.parent) {
    if (isArrowFunction(at.parent) && at.parent.body === at && !isBlock(at))
      return { start: at.getStart(source), end: at.end };
    if (isBlock(at.parent) || at.parent.kind === SyntaxKind.CaseClause) return { start: at.getStart(source) };
  }
  return undefined;
}

/** Returns a file's text with these markers inserted. @param module path from the file to the module that markers call */
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
