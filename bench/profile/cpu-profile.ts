// Reads the output of Bun's sampling profiler (`bun --cpu-prof`), and converts it to shares of the samples. The profiler takes samples while
// JavaScript runs, and during its calls into Bun. It takes no samples of other work of Bun and the kernel.

import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";

export interface CpuProfile {
  readonly samples: number;
  readonly areas: readonly Area[];
  readonly functions: readonly Hot[];
}

/** A folder of `src`, or a package. Shares of all samples, from 0 to 1. */
export interface Area {
  readonly name: string;
  /** Share of the samples in the code of the area itself. */
  readonly own: number;
  /** Share of the samples in code of Bun that the area called. */
  readonly called: number;
}

export interface Hot {
  /** Name of the function with its file; for a function of Bun, with the file that called it. */
  readonly name: string;
  readonly share: number;
}

/** A node of the call tree in Chrome's profile format. */
interface Node {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly hitCount: number;
  readonly children?: readonly number[];
}

/** Reads a `.cpuprofile` file. @param sources the folder to which the names of source files are relative */
export function readCpuProfile(file: string, sources: string): CpuProfile {
  const { nodes } = JSON.parse(readFileSync(file, "utf8")) as { nodes: readonly Node[] };
  const samples = nodes.reduce((sum, { hitCount }) => sum + hitCount, 0);
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)));
  const areas = new Map<string, { own: number; called: number }>();
  const functions = new Map<string, number>();
  for (const node of nodes) {
    if (node.hitCount === 0) continue;
    const share = node.hitCount / samples;
    const caller = callerOf(node, parents);
    const place = caller ? placeOf(caller.callFrame.url, sources) : "Bun";
    const area = areas.get(areaOf(place)) ?? { own: 0, called: 0 };
    area[caller === node ? "own" : "called"] += share;
    areas.set(areaOf(place), area);
    const name = `\`${node.callFrame.functionName || "(unnamed)"}\` ${caller === node ? "in" : "of Bun, called by"} ${place}`;
    functions.set(name, (functions.get(name) ?? 0) + share);
  }
  return {
    samples,
    areas: [...areas]
      .map(([name, shares]) => ({ name, ...shares }))
      .sort((a, b) => b.own + b.called - a.own - a.called),
    functions: [...functions].map(([name, share]) => ({ name, share })).sort((a, b) => b.share - a.share),
  };
}

/** Returns the nearest function that comes from a file: the node itself, or for code of Bun its caller. */
function callerOf(node: Node, parents: ReadonlyMap<number, Node>): Node | undefined {
  let caller: Node | undefined = node;
  while (caller && !caller.callFrame.url.startsWith("file:")) caller = parents.get(caller.id);
  return caller;
}

function placeOf(url: string, sources: string): string {
  const path = fileURLToPath(url);
  return /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? relative(sources, path);
}

/** Returns the area of a file: `http/` for `http/handler.ts`. */
function areaOf(place: string): string {
  return /^.*\//.exec(place)?.[0] ?? place;
}
