// Reads the configuration and opens the database for a command. Everything that a command changes has one actor and one run.

import { basename } from "node:path";
import { type Config, type ConfigSources, environment, operatorName, readConfig } from "../../config.ts";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { randomText } from "../../lib/text.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { isStandardInput, isStandardOutput } from "../../operator/files/standard-streams.ts";
import { type AuditEvent, recordEvent } from "../../operator/journal/events.ts";
import { completeRemovals } from "../../operator/sites/site-removal.ts";
import { getSite } from "../../operator/sites/sites.ts";
import { allResources } from "../../resources/all.ts";
import { databaseExists, type OpenOptions, openEngine } from "../../store/open.ts";
import type { SiteRecord } from "../../system/system-records.ts";
import { withActor } from "../../system/with-actor.ts";
import type { CommonOptions, SiteOptions } from "./options.ts";
import { printMessage } from "./output.ts";
import { asUsageError, toUsageError } from "./usage-error.ts";

/** Longer than in a server, because no client is waiting. */
const timeoutMs = 60_000;

/** `run` ends up in all journal entries of the command. */
type Work<T> = (engine: Engine, run: string) => Promise<T>;

/** @throws ProblemError `not-found` if the database doesn't exist */
export async function withEngine<T>(options: CommonOptions, work: Work<T>): Promise<T> {
  const { database } = configOf(options);
  if (!asUsageError(() => databaseExists(database))) {
    throw new ProblemError(
      "not-found",
      `no database at ${database}; check the path, or create it with \`site add\` or \`serve\``,
    );
  }
  return withOpened(options, { orReadOnly: true }, work);
}

/** @throws ProblemError `not-found` if the database or the site of `--site` doesn't exist */
export function withSite<T>(
  options: SiteOptions,
  work: (engine: Engine, site: SiteRecord, run: string) => Promise<T>,
): Promise<T> {
  return withEngine(options, async (engine, run) => work(engine, await getSite(engine, options.site), run));
}

/** Like `withEngine`, but creates the database if it doesn't exist. */
export function withNewEngine<T>(options: CommonOptions, work: Work<T>): Promise<T> {
  return withOpened(options, {}, work);
}

async function withOpened<T>(options: CommonOptions, how: OpenOptions, work: Work<T>): Promise<T> {
  const actor = `operator:${asUsageError(() => operatorName(options.as))}`;
  const engine = await openEngine(configOf(options).database, allResources, { ...how, timeoutMs }).catch((error) => {
    throw toUsageError(error);
  });
  try {
    for (const done of await completeRemovals(engine, Date.now())) printMessage(done);
    const run = randomText(8);
    return await work(withActor(engine, actor, run), run);
  } finally {
    await engine.close();
  }
}

/**
 * Records what a command does, with the name of its file. A database that's read-only can still be exported or backed up, so a failure is only printed.
 * @param file may be standard input or output
 */
export async function recordInLog(engine: Engine, event: AuditEvent, file = "-"): Promise<void> {
  const name = isStandardInput(file) || isStandardOutput(file) ? "" : basename(file);
  try {
    await recordEvent(engine, { name, ...event }, Date.now());
  } catch (error) {
    printMessage(`couldn't record this in the audit log: ${errorMessage(error)}`);
  }
}

/** Reads the configuration from `given` and the environment, in this order. @throws UsageError about the first bad or unknown setting */
export function toConfig(given: ConfigSources = {}): Config {
  return asUsageError(() => readConfig({ ...environment(), ...given }));
}

function configOf({ database }: CommonOptions): Config {
  return toConfig(database === undefined ? {} : { DATABASE: database });
}
