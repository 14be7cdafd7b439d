// Markers report which mutants a test file reaches, in its own process and in processes that it starts. So a mutant is tried only with tests that
// execute it.

import { type Node, type SourceFile, SyntaxKind } from "typescript/unstable/ast";
import { isArrowFunction, isBlock } from "typescript/unstable/ast/is";

/** The place of a marker: an expression to wrap, or a statement to insert the marker before. */
export interface Marker {
  readonly start: number;
  /** The end of the expression; undefined for a statement. */
  readonly end?: number;
}

/** The module with the function that a marker calls. It is in `src`, because some tests copy that folder alone. */
export const reachedModule = "src/reached.ts";

/** The environment variable with the folder for reports. A marker creates a file there for each reached mutant. */
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

/** Returns the place of the marker for `node`: the statement, or the expression of an arrow function, that contains it. */
export function markerOf(node: Node, source: SourceFile): Marker | undefined {
  for (let at = node; at.parent; at = at.parent) {
    if (isArrowFunction(at.parent) && at.parent.body === at && !isBlock(at))
      return { start: at.getStart(source), end: at.end };
    if (isBlock(at.parent) || at.parent.kind === SyntaxKind.CaseClause) return { start: at.getStart(source) };
  }
  return undefined;
}

/** Returns the text of a file with these markers inserted. @param module the path from the file to the module that the markers call */
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
