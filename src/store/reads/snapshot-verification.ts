// Compares the sites in memory with the database in the background, part by part, and drops a snapshot that differs.
//
// A step takes some records from memory and reads their rows, then pauses 1,500 times as long. So all of this, including timers and garbage
// collection, takes about 0.1% of the time. A minute after all sites in memory are done, it starts over.
//
// Invariants:
// - Changes during a step aren't differences (snapshot-differences.ts). If the epoch or timeline changes, or the site is evicted, the step is void.
// - Nothing refers to a snapshot between steps, so evicted ones are freed. Verifying a site doesn't count as using it.

import type { Logger } from "pino";
import { type Background, startBackground, withJitter } from "../../lib/background.ts";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { counter, type MetricFamily } from "../../lib/metrics.ts";
import { slices } from "../../lib/slices.ts";
import { yieldToEventLoop } from "../../lib/yielding.ts";
import type { Engine } from "../../model/engine.ts";
import type { Resource } from "../../model/resource.ts";
import { isUsableEpoch } from "../database/site-state.ts";
import type { Snapshot } from "../memory/snapshot.ts";
import type { SiteViews } from "./site-views.ts";
import {
  type ComparedPart,
  compareParts,
  type OnDifferences,
  type SnapshotDifference,
} from "./snapshot-differences.ts";

export interface VerificationPauses {
  /** The pause before the first step. */
  readonly firstMs: number;
  /** The minimum pause after a step. */
  readonly minMs: number;
  /** The pause after a step, as a multiple of its duration. */
  readonly perWork: number;
  /** The pause between two passes. */
  readonly passMs: number;
}

const defaultPauses: VerificationPauses = { firstMs: 10_000, minMs: 100, perWork: 1500, passMs: 60_000 };

/** Caps the pause if a slow database makes a step take long. */
const maxPauseMs = 60_000;

/** Minimum and maximum records per step. */
const [minRecords, maxRecords] = [16, 128];

/** How long reading the rows of a step should take, depending on whether it blocks this thread. */
const readMsOnThisThread = 0.5;
const readMsElsewhere = 5;

/** A load may not resolve these, because the database contradicts itself. */
const lastingKinds: ReadonlySet<SnapshotDifference["kind"]> = new Set(["count", "last-change", "after-head"]);

const maxRemembered = 1000;

export interface Verification extends Background {
  families(): readonly MetricFamily[];
}

interface VerificationOptions {
  readonly engine: Pick<Engine, "readRowsAfter" | "readsOnThisThread">;
  readonly siteViews: SiteViews;
  readonly resources: readonly Resource[];
  readonly reports: DifferenceReports;
  readonly log: Logger;
  readonly pauses?: VerificationPauses | undefined;
}

/** Each process verifies its own snapshots. @param isOn if false, this does nothing */
export function startVerification(isOn: boolean, options: VerificationOptions): Verification {
  const { reports, log, pauses = defaultPauses } = options;
  const verifier = new SnapshotVerifier(options, pauses);
  const onError = (error: unknown) =>
    log.debug({ reason: errorMessage(error) }, "could not compare a site in memory with the database");
  const background = isOn
    ? startBackground(() => verifier.step(), { onError, firstPauseMs: withJitter(pauses.firstMs) })
    : { stop: async () => {} };
  return { ...background, families: () => verificationFamilies(verifier, reports) };
}

function verificationFamilies({ records, parts }: SnapshotVerifier, { count }: DifferenceReports): MetricFamily[] {
  return [
    counter("storefront_verified_records_total", "Records in memory compared with the database.", records),
    counter("storefront_verified_parts_total", "Parts of sites in memory compared with the database.", parts),
    counter(
      "storefront_verify_differences_total",
      "Differences between the sites in memory and those in the database.",
      count,
    ),
  ];
}

/** Differences logged per report. */
const maxLogged = 10;

export class DifferenceReports {
  count = 0;
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  readonly add: OnDifferences = ({ site, revision, differences }) => {
    this.count += differences.length;
    const others = differences.length - maxLogged;
    for (const difference of differences.slice(0, maxLogged))
      this.#log.error({ site, revision, ...difference, ...(others > 0 ? { others } : {}) }, droppedMessage);
  };
}

const droppedMessage = "a site in memory differed from the database; the next request will reload it";

/** Where the next step starts. */
interface Place {
  readonly resource: number;
  /** Start after this ID. */
  readonly after: number;
}

const start: Place = { resource: 0, after: 0 };

class SnapshotVerifier {
  records = 0;
  parts = 0;
  readonly #options: VerificationOptions;
  readonly #pauses: VerificationPauses;
  /** Sites left in this pass; the last is next. */
  #sites: number[] = [];
  #place = start;
  /** Records in the next step. */
  #limit = minRecords;
  /** Lasting differences that were reported, so that we don't drop a site again and again. Each starts with its site and resource. */
  readonly #known = new Set<string>();

  constructor(options: VerificationOptions, pauses: VerificationPauses) {
    this.#options = options;
    this.#pauses = pauses;
  }

  /** Compares the next part. Returns how long to pause, in milliseconds. */
  async step(): Promise<number> {
    const { siteViews, resources } = this.#options;
    const started = performance.now();
    const site = this.#sites.at(-1);
    if (site === undefined) {
      this.#sites = siteViews.listCachedSites().reverse();
      return this.#sites.length > 0 ? this.#pauses.minMs : withJitter(this.#pauses.passMs);
    }
    const resource = resources[this.#place.resource];
    const end = resource ? await this.#compareNext(site, resource) : undefined;
    if (end === undefined) {
      this.#sites.pop();
      this.#place = start;
    } else if (end < Number.POSITIVE_INFINITY) this.#place = { ...this.#place, after: end };
    else this.#place = { resource: this.#place.resource + 1, after: 0 };
    if (this.#sites.length === 0) return withJitter(this.#pauses.passMs);
    const pauseMs = this.#pauses.perWork * (performance.now() - started);
    return Math.min(maxPauseMs, Math.max(this.#pauses.minMs, pauseMs));
  }

  /** Returns the ID up to which it compared; undefined if the site can't be compared now. */
  async #compareNext(site: number, resource: Resource): Promise<number | undefined> {
    const { siteViews } = this.#options;
    const snapshot = siteViews.findCached(site);
    if (!snapshot || !isUsableEpoch(snapshot.epoch)) return undefined;
    await snapshot.settle(resource);
    await yieldToEventLoop();
    const compared = await this.#readBoth(snapshot, resource);
    if (!compared) return undefined;
    const { differences, compared: count, end } = await slices.runOthers(compareParts(compared));
    if (siteViews.findCached(site) !== snapshot) return undefined;
    this.records += count;
    this.parts++;
    this.#report(snapshot, resource, { differences, isEnd: end === Number.POSITIVE_INFINITY });
    return end;
  }

  /** Takes a part from memory, then reads its rows. Returns undefined if the database has another lineage or is behind the snapshot. */
  async #readBoth(snapshot: Snapshot, resource: Resource): Promise<ComparedPart | undefined> {
    const { after } = this.#place;
    const { siteId, epoch, revision, timeline } = snapshot;
    const limit = this.#limit;
    const part = snapshot.partAfter(resource, after, limit);
    const started = performance.now();
    const read = await this.#options.engine.readRowsAfter(siteId, resource.name, { after, limit });
    this.#adaptLimit(performance.now() - started);
    const { head } = read;
    if (head.epoch !== epoch || head.timeline !== timeline || head.revision < revision) return undefined;
    return { resource, revision, limit, part, read };
  }

  #adaptLimit(readMs: number): void {
    const wantedMs = this.#options.engine.readsOnThisThread ? readMsOnThisThread : readMsElsewhere;
    if (readMs > wantedMs) this.#limit = Math.max(minRecords, this.#limit / 2);
    else if (readMs < wantedMs / 2) this.#limit = Math.min(maxRecords, this.#limit * 2);
  }

  /** Drops a snapshot with differences, unless they were all reported before and a load didn't resolve them. */
  #report(
    snapshot: Snapshot,
    resource: Resource,
    { differences, isEnd }: { readonly differences: readonly SnapshotDifference[]; readonly isEnd: boolean },
  ): void {
    const { reports, siteViews } = this.#options;
    const prefix = `${snapshot.siteId}/${resource.name}/`;
    if (differences.length === 0) {
      if (isEnd) for (const known of this.#known) if (known.startsWith(prefix)) this.#known.delete(known);
      return;
    }
    const lasting = differences.filter(({ kind }) => lastingKinds.has(kind)).map((one) => prefix + JSON.stringify(one));
    const isKnown = lasting.length === differences.length && lasting.every((one) => this.#known.has(one));
    if (isKnown) {
      reports.count += differences.length;
      return;
    }
    if (this.#known.size >= maxRemembered) this.#known.clear();
    for (const one of lasting) this.#known.add(one);
    siteViews.drop(snapshot, differences);
  }
}
