// Reads the output of Bun's sampling profiler (`bun --cpu-prof`) as shares of its samples. The profiler samples while
// JavaScript runs, calls into Bun included. Work of Bun and the system outside of such calls is missing.

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
  /** In the code of the area itself. */
  readonly own: number;
  /** In code of Bun that it called. */
  readonly called: number;
}

export interface Hot {
  /** With its file; for a function of Bun, the file that called it. */
  readonly name: string;
  readonly share: number;
}

/** A node of the call tree, as Chrome's profile format has it. */
interface Node {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly hitCount: number;
  readonly children?: readonly number[];
}

/** Reads a `.cpuprofile`. Files are named relative to `sources`. */
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

/** The nearest function that comes from a file: the node itself, or the caller of Bun's code. */
function callerOf(node: Node, parents: ReadonlyMap<number, Node>): Node | undefined {
  let caller: Node | undefined = node;
  while (caller && !caller.callFrame.url.startsWith("file:")) caller = parents.get(caller.id);
  return caller;
}

function placeOf(url: string, sources: string): string {
  const path = fileURLToPath(url);
  return /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? relative(sources, path);
}

/** `http/response.ts` is in `http/`. */
function areaOf(place: string): string {
  return /^.*\//.exec(place)?.[0] ?? place;
}
