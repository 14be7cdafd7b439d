// Opens the database for a command, and reads the configuration.

import { type Config, type ConfigSources, environment, operatorName, readConfig } from "../../config.ts";
import { randomText } from "../../lib/text.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { completeRemovals } from "../../operator/sites/site-removal.ts";
import { getSite } from "../../operator/sites/sites.ts";
import { allResources } from "../../resources/all.ts";
import { databaseExists, type OpenOptions, openEngine } from "../../store/open.ts";
import type { SiteRecord } from "../../system/system-records.ts";
import { withActor } from "../../system/with-actor.ts";
import type { CommonOptions, SiteOptions } from "./options.ts";
import { printMessage } from "./output.ts";
import { asUsageError, toUsageError } from "./usage-error.ts";

/** Milliseconds that a command waits for the database: longer than a server, because no client waits for a command. */
const timeoutMs = 60_000;

/** The work of a command on the database. `run` is the run ID: all journal entries of the command have it. */
type Work<T> = (engine: Engine, run: string) => Promise<T>;

/** Runs `work` on an existing database. @throws ProblemError `not-found` if the database does not exist */
export async function withEngine<T>(options: CommonOptions, work: Work<T>): Promise<T> {
  const { database } = configOf(options);
  if (!asUsageError(() => databaseExists(database))) {
    throw new ProblemError("not-found", `there is no database ${database}; create it with \`site add\` or \`serve\``);
  }
  return withOpened(options, { orReadOnly: true }, work);
}

/** Runs `work` on an existing database, with the site of `--site`. @throws ProblemError `not-found` if there is no such database or site */
export function withSite<T>(
  options: SiteOptions,
  work: (engine: Engine, site: SiteRecord, run: string) => Promise<T>,
): Promise<T> {
  return withEngine(options, async (engine, run) => work(engine, await getSite(engine, options.site), run));
}

/** Runs `work` on the database, and creates the database first if it does not exist. */
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

/** Reads the configuration from the environment; `given` takes precedence. @throws UsageError that names the first bad or unknown setting */
export function toConfig(given: ConfigSources = {}): Config {
  return asUsageError(() => readConfig({ ...environment(), ...given }));
}

function configOf({ database }: CommonOptions): Config {
  return toConfig(database === undefined ? {} : { DATABASE: database });
}
