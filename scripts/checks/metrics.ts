// `npm run check:metrics` checks a running server's metrics and the alert rules with promtool, which comes with Prometheus (Debian:
// `apt-get install prometheus`). For each rule, it breaks a real server (scripts/checks/outages.ts), and the rule must fire for that server's metrics. Exits
// with 1 if promtool finds an error or isn't installed.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Outage, outages } from "./outages.ts";

const rules = join(import.meta.dir, "../../docs/alerts.yml");
const folder = mkdtempSync(join(tmpdir(), "storefront-metrics-"));
let faults = 0;
try {
  faults += run(["check", "rules", rules]);
  faults += run(["test", "rules", join(import.meta.dir, "../../test/alerts.yml")]);
  for (const [name, break_] of Object.entries(outages)) faults += await check(name, break_);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(faults > 0 ? 1 : 0);

/** Checks that only the expected rules fire for an outage. Returns the number of failed checks. */
async function check(name: string, outage: (folder: string) => Promise<Outage>): Promise<number> {
  console.log(`${name}:`);
  const { scrapes, firing } = await outage(mkdtempSync(join(folder, "outage-")));
  const last = scrapes.at(-1) ?? "";
  const inText = last === "" ? 0 : run(["check", "metrics"], last);
  const file = join(folder, "test.yml");
  await Bun.write(file, JSON.stringify(ruleTest(name, scrapes, firing)));
  return inText + run(["test", "rules", file]);
}

/**
 * Returns a test of the rules (JSON is YAML) with a scrape per minute; the last one repeats until two hours are over. An empty scrape means that it failed.
 */
function ruleTest(name: string, scrapes: readonly string[], firing: readonly string[]) {
  const series = new Map<string, string[]>();
  for (const [index, text] of scrapes.entries()) {
    const values = new Map([...valuesIn(text), ['up{job="storefront",instance="a"}', text === "" ? 0 : 1] as const]);
    for (const [key, value] of values) {
      const all = series.get(key) ?? scrapes.map(() => "_");
      all[index] = String(value);
      series.set(key, all);
    }
  }
  const toSeries = ([key, values]: [string, string[]]) => {
    const last = values.at(-1);
    return { series: key, values: `${values.join(" ")} ${last}x120` };
  };
  const expected = firing.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 }));
  return {
    rule_files: [rules],
    evaluation_interval: "1m",
    tests: [
      {
        name,
        interval: "1m",
        input_series: [...series].map(toSeries),
        promql_expr_test: [
          {
            expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
            eval_time: "100m",
            ...(expected.length > 0 ? { exp_samples: expected } : {}),
          },
        ],
      },
    ],
  };
}

/** Yields a scrape's values by name and labels. Times become relative, because they start at 0 in a rule test. */
function* valuesIn(text: string): Generator<[string, number]> {
  for (const line of text.split("\n")) {
    const [, name = "", labels = "", value = ""] = /^(storefront_\w+)(\{.*\})? (\S+)$/.exec(line) ?? [];
    if (name === "") continue;
    const isTime = /_(?:timestamp|time)_seconds$/.test(name) && Number(value) > 0;
    const key = `${name}{instance="a"${labels === "" ? "" : `,${labels.slice(1, -1)}`}}`;
    yield [key, isTime ? Math.round(Number(value) - Date.now() / 1000) : Number(value)];
  }
}

/** Runs promtool. Returns 1 if it finds an error. */
function run(args: readonly string[], stdin = ""): number {
  const { success } = Bun.spawnSync(["promtool", ...args], {
    stdin: Buffer.from(stdin),
    stdout: "inherit",
    stderr: "inherit",
  });
  console.log(`promtool ${args.slice(0, 2).join(" ")}: ${success ? "nothing found" : "see above"}`);
  return success ? 0 : 1;
}
