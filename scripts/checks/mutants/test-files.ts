// Finds the test files that import a source file, directly or indirectly, and puts the most promising first.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

export interface TestFile {
  readonly file: string;
  /** Files it imports, directly or indirectly, with the number of steps. */
  readonly distances: ReadonlyMap<string, number>;
  /** How long it took in the last run. */
  readonly milliseconds: number;
}

/** These check the source's text, so they'd fail even if no test noticed a change in behaviour. */
const readsSource = ["test/house.test.ts", "test/references.test.ts"];

/** Returns all test files that run the source. */
export function findTestFiles(root: string): TestFile[] {
  const measured = join(root, "node_modules/.cache/storefront/test-timings.json");
  const timings = existsSync(measured) ? JSON.parse(readFileSync(measured, "utf8")).files : {};
  const imports = new Map<string, string[]>();
  return [...new Bun.Glob("test/**/*.test.{ts,tsx}").scanSync(root)]
    .filter((file) => !readsSource.includes(file))
    .sort()
    .map((file) => ({ file, distances: distancesFrom(file, root, imports), milliseconds: timings[file] ?? 1000 }));
}

/** Returns the test files that import `file`, those likely to notice a fault soonest first. */
export function inOrder(tests: readonly TestFile[], file: string): TestFile[] {
  const words = wordsOf(file);
  const effort = ({ file: test, distances, milliseconds }: TestFile) => {
    const shared = wordsOf(test).filter((word) => words.includes(word)).length;
    return ((milliseconds + 500) * (1 + (distances.get(file) ?? 20))) / (1 + 5 * shared);
  };
  return tests.filter(({ distances }) => distances.has(file)).sort((a, b) => effort(a) - effort(b));
}

function wordsOf(file: string): string[] {
  const words = file.split(/[^a-z]+/i).map((word) => word.toLowerCase().replace(/s$/, ""));
  return [...new Set(words)].filter((word) => !["src", "test", "tsx", "t", "ts", ""].includes(word));
}

/** Returns imported files with the number of steps. Any quoted path counts as an import, such as a program the test starts. */
function distancesFrom(start: string, root: string, imports: Map<string, string[]>): Map<string, number> {
  const distances = new Map([[start, 0]]);
  for (const [file, distance] of distances) {
    let targets = imports.get(file);
    if (!targets) {
      targets = [...readFileSync(join(root, file), "utf8").matchAll(/"(\.\.?\/[^"]+\.(?:tsx?|m?js))"/g)]
        .map(([, path]) => relative(root, join(root, dirname(file), path as string)))
        .filter((path) => existsSync(join(root, path)));
      imports.set(file, targets);
    }
    for (const target of targets) if (!distances.has(target)) distances.set(target, distance + 1);
  }
  return distances;
}
