// Makes a simulated database server's engine add the database's timeline to its heads, as PostgreSQL does.

import type { Intent } from "../../../src/model/change.ts";
import type { Engine } from "../../../src/model/engine.ts";
import type { Head } from "../../../src/model/head.ts";

/** @param current returns the timeline; undefined for an engine without timelines */
export function withTimeline(engine: Engine, current: () => number | undefined): Engine {
  const on = (head: Head): Head => ({ ...head, timeline: current() });
  /** SQLite's statements know no timeline. An authorization from another one becomes outdated, as on PostgreSQL. */
  const withoutTimeline = ({ authorizedBy, ...intent }: Intent): Intent => {
    if (!authorizedBy) return intent;
    const { timeline, revision, ...by } = authorizedBy;
    return { ...intent, authorizedBy: { ...by, revision: timeline === current() ? revision : -1 } };
  };
  return {
    ...engine,
    readHeads: async (sites) => (await engine.readHeads(sites)).map(on),
    readRecord: async (...args) => {
      const found = await engine.readRecord(...args);
      return { ...found, head: on(found.head), system: on(found.system) };
    },
    readPage: async (...args) => {
      const found = await engine.readPage(...args);
      return { ...found, head: on(found.head) };
    },
    readSite: (site, use, requiredHead) =>
      engine.readSite(
        site,
        async (contents) => {
          const { revision } = contents.head;
          const [last] = current() === undefined ? [] : (await engine.readJournalPage(site, revision - 1, 1)).entries;
          return use({ ...contents, head: on(contents.head), last });
        },
        requiredHead,
      ),
    readChangesSince: async (site, revision, { timeline, ...options } = {}) =>
      timeline === undefined || timeline === current() ? engine.readChangesSince(site, revision, options) : undefined,
    readJournalPage: async (...args) => {
      const page = await engine.readJournalPage(...args);
      return { ...page, head: on(page.head) };
    },
    commit: async (intents, options) => {
      const timeline = current();
      const outcomes = await engine.commit(intents.map(withoutTimeline), options);
      return outcomes.map((outcome) => (outcome.kind === "done" ? { ...outcome, timeline } : outcome));
    },
    commitAtomically: (batches, onOutcomes, options) => {
      const timeline = current();
      return engine.commitAtomically(
        Array.from(batches, (intents) => intents.map(withoutTimeline)),
        (outcomes) =>
          onOutcomes(outcomes.map((outcome) => (outcome.kind === "done" ? { ...outcome, timeline } : outcome))),
        options,
      );
    },
    replaceEpoch: async (...args) => on((await engine.replaceEpoch?.(...args)) as Head),
  };
}
