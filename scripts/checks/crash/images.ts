// Chooses when power losses happen, and what each leaves of the cache.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Random } from "../../../test/simulation/random.ts";
import type { Disk, Image, Left } from "./disk.ts";
import type { DiskEvent } from "./log.ts";

/**
 * What a power loss leaves of the changes that are only in the cache:
 * - `nothing`, `all`, the first ones (`prefix`), or any of them (`subset`)
 * - any sectors of 512 or 4096 bytes, from any writes (`torn-512`, `torn-4096`)
 */
const cuts = ["nothing", "all", "prefix", "subset", "torn-512", "torn-4096"] as const;

type Cut = (typeof cuts)[number];

/** A power loss after this many events in the log. */
export interface PowerLoss {
  readonly events: number;
  readonly cut: Cut;
}

/**
 * Plans power losses in log order. Three out of four come right before or after a sync ends, the others in between. The last is at the end of the log and
 * leaves `nothing` of the cache, because whatever was acknowledged must be durable.
 * @param count maximum number of power losses
 */
export function planPowerLosses(events: readonly DiskEvent[], random: Random, count: number): PowerLoss[] {
  const boundaries = events.flatMap(({ kind }, n) => (kind === "sync" || kind === "failed-sync" ? [n, n + 1] : []));
  const every = [...new Set(boundaries)].flatMap((at) => cuts.map((cut) => ({ events: at, cut })));
  const between = Array.from({ length: Math.ceil(count / 4) }, () => ({
    events: random.whole(0, events.length),
    cut: random.pick(cuts),
  }));
  const chosen = [...take(every, count - 1 - between.length, random), ...between].slice(0, Math.max(0, count - 1));
  return [...chosen, { events: events.length, cut: "nothing" as const }].sort((a, b) => a.events - b.events);
}

function take<T>(values: readonly T[], count: number, random: Random): T[] {
  const drawn = values.map((value) => ({ value, order: random.next() })).sort((a, b) => a.order - b.order);
  return drawn.slice(0, Math.max(0, count)).map(({ value }) => value);
}

/** Returns the files that a power loss would leave now. */
export function cutImage(disk: Disk, cut: Cut, random: Random): Image {
  const kept = random.whole(0, disk.pending);
  const torn = (bytes: number): Left => ({ bytes, has: () => random.chance(0.5) });
  return disk.image((index) => {
    if (cut === "nothing" || cut === "all") return cut === "all";
    if (cut === "prefix") return index < kept;
    if (cut === "subset") return random.chance(0.5);
    return random.chance(0.3) ? random.chance(0.5) : torn(cut === "torn-512" ? 512 : 4096);
  });
}

/** Equal images have equal digests. */
export function digestOf(image: Image): string {
  const hasher = new Bun.CryptoHasher("sha1");
  for (const [path, content] of image) {
    hasher.update(`${path}\0${content === "folder" ? "folder" : content.length}\0`);
    if (content !== "folder") hasher.update(content);
  }
  return hasher.digest("hex");
}

/** Writes an image to an empty folder. */
export function writeImage(image: Image, folder: string): void {
  for (const [path, content] of image) {
    const target = join(folder, path);
    if (content === "folder") mkdirSync(target, { recursive: true });
    else {
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, content, { mode: 0o600 });
    }
  }
}
