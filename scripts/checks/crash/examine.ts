// Runs a story, reconstructs the files that power losses could have left, and opens them with the real program.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorMessage } from "../../../src/lib/errors-for-log.ts";
import { completeRemovals } from "../../../src/operator/sites/site-removal.ts";
import { Random } from "../../../test/simulation/random.ts";
import { Disk, type Image } from "./disk.ts";
import { cutImage, digestOf, type PowerLoss, planPowerLosses, writeImage } from "./images.ts";
import { Lab, withEngine } from "./lab.ts";
import { type DiskEvent, readLog } from "./log.ts";
import type { Story, Verify } from "./story.ts";

/** Every how many images the real program also runs on one as a process. */
const perProcess = 40;

/** Commands remove an interrupted import's site after this time, which is longer than a reservation lasts. */
const abandonedAfterMs = 10 * 60_000;

/** What `check` says about a restore or import that a power loss interrupted. The next command or restore removes its rows. */
const isInterruption = /in progress or was interrupted/;

export interface ExamineOptions {
  readonly recorder: string;
  /** src/main.ts, or its copy with a planted fault. */
  readonly main: string;
  readonly seed: number;
  /** Maximum images. */
  readonly images: number;
  /** When to stop, by `performance.now()`. */
  readonly until: number;
}

export interface Examined {
  /** How many different images were opened. */
  readonly images: number;
  readonly events: number;
  /** What's wrong, with the image; at most ten entries. */
  readonly faults: readonly string[];
}

const maxFaults = 10;

/** Runs a story and checks what power losses leave behind. */
export async function examineStory(story: Story, options: ExamineOptions): Promise<Examined> {
  const lab = new Lab({ recorder: options.recorder, main: options.main, database: story.database });
  try {
    await story.prepare?.(lab);
    const disk = new Disk(lab.folder);
    const verify = await story.run(lab);
    return await examineLog({ disk, events: readLog(lab.log), verify, story, options });
  } finally {
    lab.remove();
  }
}

interface Recorded {
  readonly disk: Disk;
  readonly events: readonly DiskEvent[];
  readonly verify: Verify;
  readonly story: Pick<Story, "database" | "tryProgram">;
  readonly options: Pick<ExamineOptions, "seed" | "images" | "until" | "main">;
}

/** Checks what power losses leave of a recorded log. @param recorded.disk the disk before the first event */
export async function examineLog({ disk, events, verify, story, options }: Recorded): Promise<Examined> {
  const random = new Random(options.seed);
  const seen = new Set<string>();
  const faults: string[] = [];
  let applied = 0;
  for (const loss of planPowerLosses(events, random, options.images)) {
    if (performance.now() > options.until || faults.length >= maxFaults) break;
    for (; applied < loss.events; applied++) disk.apply(events[applied] as DiskEvent);
    const position = events[loss.events - 1]?.end ?? 0;
    const image = cutImage(disk, loss.cut, random);
    // What must be there depends on the position too.
    const digest = `${digestOf(image)} ${position}`;
    if (seen.has(digest)) continue;
    seen.add(digest);
    const isTried = seen.size % perProcess === 0;
    const found = await openImage(image, position, { verify, story, options, isTried });
    faults.push(...found.map((fault) => `${describe(loss, events)}: ${fault}`));
  }
  return { images: seen.size, events: events.length, faults: faults.slice(0, maxFaults) };
}

function describe({ events: count, cut }: PowerLoss, events: readonly DiskEvent[]): string {
  const last = events[count - 1];
  return `after ${count} events (${last ? `${last.kind} of ${last.path.split("/").at(-1)}` : "none"}), ${cut} of the cache`;
}

interface OpenOptions extends Pick<Recorded, "verify" | "story" | "options"> {
  /** Whether to also run the program as a process. */
  readonly isTried: boolean;
}

async function openImage(image: Image, position: number, { verify, story, options, isTried }: OpenOptions) {
  const folder = mkdtempSync(join(tmpdir(), "storefront-image-"));
  const database = join(folder, story.database);
  try {
    writeImage(image, folder);
    const faults = await withEngine(database, async (engine) => {
      await completeRemovals(engine, Date.now() + abandonedAfterMs);
      const inconsistencies = (await engine.findInconsistencies()).filter((fault) => !isInterruption.test(fault));
      const found = inconsistencies.map((fault) => `\`check\` finds: ${fault}`);
      return [...found, ...(await verify({ folder, engine, position }))];
    });
    return isTried ? [...faults, ...(await tryProgram(folder, position, { story, options }))] : faults;
  } catch (error) {
    return [`the program can't open what's left: ${errorMessage(error)}`];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function tryProgram(
  folder: string,
  position: number,
  { story, options }: Pick<OpenOptions, "story" | "options">,
) {
  const lab = new Lab({ main: options.main, database: story.database, folder });
  try {
    const checked = await lab.run("check");
    const isClean = checked.status === 0 || isInterruption.test(checked.stdout);
    const faults = isClean ? [] : [`\`check\` ended with ${checked.status}: ${checked.stderr}`];
    return [...faults, ...((await story.tryProgram?.(lab, position)) ?? [])];
  } finally {
    lab.remove();
  }
}
