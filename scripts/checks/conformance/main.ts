// `npm run conformance -- URL --key K` tests a server against the promises in docs/contract.md.

import { parseArgs } from "node:util";
import type { Format } from "./records.ts";
import { type Outcome, runCases } from "./run.ts";
import { isSandbox } from "./sandbox.ts";

const usage = `npm run conformance -- URL --key K [options]

  --key K               a key with write access; use a sandbox key unless you add --yes-live
  --yes-live            accept a live site's key; the cases create and delete records there
  --format F            json, xml or both (default)
  --only TEXT           run only this section, number or part of a title: 7, 7.3, 7.3b, If-Match
  --json                print each result as a line of JSON

With these options, more cases run:
  --sandbox-key K       a key for the sandbox of the same site
  --read-key K          a read-only key for the same site
  --other-key K         a key for another site
  --revoked-key K       a revoked or expired key for the same site
  --limited-key K       a key with a low rate limit
  --suspended-host H    a suspended site's host
  --webhook-port P      a port on this machine that one of the site's webhooks points to
  --webhook-secret S    that webhook's secret
  --webhook-key K       a key for the same site with the right webhooks:write; the cases create and delete
                        webhooks whose host can't exist`;

const text = { type: "string" } as const;
const flag = { type: "boolean", default: false } as const;

process.exitCode = await main().catch((error: Error) => {
  console.error(error.message);
  return 2;
});

/** Returns the exit status: 0 if no case failed, 1 if one failed or the run was stopped, 2 for a usage error. */
async function main(): Promise<number> {
  const { values, positionals } = parse();
  const [url] = positionals;
  const formats = { json: ["json"], xml: ["xml"], both: ["json", "xml"] }[values.format] as Format[] | undefined;
  if (!url || positionals.length > 1 || !URL.canParse(url) || !values.key || !formats) throw new Error(usage);
  const origin = new URL(url).origin;
  if (!values["yes-live"] && !(await isSandbox(origin, values.key)))
    throw new Error(
      "this key opens a live site (its responses have no X-Sandbox), and the cases create and delete records. Use a sandbox key, or add --yes-live",
    );
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => {
      console.error("stopping; removing this run's records");
      stop.abort();
    });
  const outcomes = await runCases({
    url: origin,
    key: values.key,
    extras: extrasOf(values),
    formats,
    only: values.only,
    signal: stop.signal,
    report: (outcome) => print(outcome, values.json),
  });
  return summarize(outcomes, stop.signal.aborted, values);
}

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        ...{ key: text, only: text, format: { ...text, default: "both" } as const },
        ...{ "yes-live": flag, json: flag },
        ...{ "sandbox-key": text, "read-key": text, "other-key": text, "revoked-key": text, "limited-key": text },
        ...{ "suspended-host": text, "webhook-port": text, "webhook-secret": text, "webhook-key": text },
      },
    });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${usage}`);
  }
}

function extrasOf(values: ReturnType<typeof parse>["values"]) {
  return {
    sandboxKey: values["sandbox-key"],
    readKey: values["read-key"],
    otherKey: values["other-key"],
    revokedKey: values["revoked-key"],
    limitedKey: values["limited-key"],
    suspendedHost: values["suspended-host"],
    webhookPort: values["webhook-port"],
    webhookSecret: values["webhook-secret"],
    webhookKey: values["webhook-key"],
  };
}

function print(outcome: Outcome, isJson: boolean): void {
  if (isJson) console.log(JSON.stringify(outcome));
  else if (outcome.result === "failed") {
    const { number, format, title, reason, command } = outcome;
    console.log(
      `FAILED ${number} ${format} (${title}): ${reason?.replaceAll("\n", " ")} <- ${command?.replaceAll("\n", "\\n")}`,
    );
  }
}

function summarize(
  outcomes: readonly Outcome[],
  wasStopped: boolean,
  { json, only }: { json: boolean; only?: string | undefined },
): number {
  const count = (result: Outcome["result"]) => outcomes.filter((one) => one.result === result).length;
  const reasons = new Map<string, string[]>();
  for (const { result, reason = "", number, format } of outcomes)
    if (result === "not tested") reasons.set(reason, [...(reasons.get(reason) ?? []), `${number} ${format}`]);
  if (!json) for (const [reason, numbers] of reasons) console.log(`not tested: ${numbers.join(", ")}: ${reason}`);
  if (outcomes.length === 0 && !wasStopped)
    throw new Error(`no case matches --only ${only}; give a section, a number or part of a title`);
  const line = `${count("passed")} passed, ${count("failed")} failed, ${count("not tested")} not tested`;
  if (json) console.error(line);
  else console.log(wasStopped ? `${line}; stopped` : line);
  return count("failed") > 0 || wasStopped ? 1 : 0;
}
