// Which test files can see a source file, and in which order to try them.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

export interface TestFile {
  readonly file: string;
  /** Files of the checkout that it imports, itself or through others, with the number of imports between. */
  readonly distances: ReadonlyMap<string, number>;
  /** How long it took when `timings.json` was made. */
  readonly milliseconds: number;
}

/** Every test file but those that read the source as text. */
export function findTestFiles(root: string): TestFile[] {
  const { files: timings } = JSON.parse(readFileSync(join(root, "test/timings.json"), "utf8"));
  const imports = new Map<string, string[]>();
  return [...new Bun.Glob("test/**/*.test.{ts,tsx}").scanSync(root)]
    .filter((file) => file !== "test/house.test.ts")
    .sort()
    .map((file) => ({ file, distances: distancesFrom(file, root, imports), milliseconds: timings[file] ?? 1000 }));
}

/** Returns the test files that may see `file`, with the one first that probably notices a fault soonest. */
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

/** Every path in quotes counts as an import: a program that is started, a page that is bundled. */
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
