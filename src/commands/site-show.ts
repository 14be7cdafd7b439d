import { Command } from "commander";
import { servedOf } from "../model/resource.ts";
import { summarizeSite } from "../operator/site-summary.ts";
import type { SiteRecord } from "../operator/sites.ts";
import { allResources } from "../resources/all.ts";
import { type CommonOptions, counted, printResult, toMinute, withCommonOptions, withEngine } from "./common.ts";

export function showSiteCommand(): Command {
  return withCommonOptions(new Command("show"))
    .description("show a website: its hostnames, state, keys, webhooks, records and last change")
    .argument("<name>", "name of the website, see `site list`")
    .action(async (name: string, options: CommonOptions) => {
      const { site, changed, ...summary } = await withEngine(options, (engine) =>
        summarizeSite(engine, name, Date.now()),
      );
      const { records, keys, validKeys, webhooks, revision } = summary;
      const counts = servedOf(allResources).map(({ path, singular, plural }) =>
        counted(records[path] ?? 0, singular, plural),
      );
      const lines = [
        ["Name", site.Name],
        ["ID", String(site.ID)],
        ["Hostnames", site.Hostnames || "none"],
        ["Default", site.Default || "no"],
        ["State", stateOf(site)],
        ["Keys", `${keys}, of which ${validKeys} ${validKeys === 1 ? "is" : "are"} valid`],
        ["Webhooks", String(webhooks)],
        ["Records", counts.join(", ")],
        ["Revision", `${revision}${changed ? `, of ${toMinute(changed.toISOString())} UTC` : ""}`],
      ].map(([label = "", value]) => `${label.padEnd(10)} ${value}`);
      printResult(options, { ...site, ...summary, changed: changed?.toISOString() ?? "" }, lines);
    });
}

/** Whether a site is served, in words. */
export function stateOf({ Suspended, Importing }: SiteRecord): string {
  if (Importing) return "being imported";
  return Suspended ? `suspended since ${toMinute(Suspended)} UTC` : "served";
}
