// Creates the sample site of `serve --demo`, and shows how to try it.

import type { Config } from "../../config.ts";
import { toConnectableUrl } from "../../lib/networks.ts";
import { basePath } from "../../model/resource.ts";
import { createDemo, createDemoLink } from "../../operator/sites/demo.ts";
import { listSites } from "../../operator/sites/sites.ts";
import type { SiteRecord } from "../../system/system-records.ts";
import { consoleUrl, signInLink } from "../shared/console-address.ts";
import { withNewEngine } from "../shared/database.ts";
import { printMessage, printText } from "../shared/output.ts";
import { commandLine, quoteWord } from "../shared/shell-words.ts";
import type { Server } from "./serve.ts";

export interface DemoSite {
  /** Whether the database was created for the sample site. */
  readonly isNew: boolean;
  /** The sample site's API key. Undefined if the database already had sites. */
  readonly key: string | undefined;
  /** The site to try: the default site, or else the first one. */
  readonly site: SiteRecord | undefined;
  /** The secret of a sign-in link for the operator `demo`. Undefined if the database only has other operators. */
  readonly link: string | undefined;
}

/** Creates the sample site, unless the database has sites, and a sign-in link. */
export function prepareDemo({ database }: Config, as: string | undefined): Promise<DemoSite> {
  return withNewEngine({ database, ...(as === undefined ? {} : { as }) }, async (engine) => {
    const key = await createDemo(engine, Date.now());
    const sites = await listSites(engine);
    const link = await createDemoLink(engine, Date.now());
    return { isNew: engine.isNew === true, key, site: sites.find((site) => site.Default === "yes") ?? sites[0], link };
  });
}

/** Prints a curl command that works as it is, and a sign-in link to the console. */
export function printDemo(
  { url, adminUrl }: Pick<Server, "url" | "adminUrl">,
  config: Config,
  { key, site, link }: DemoSite,
  database: string | undefined,
): void {
  const reachable = toConnectableUrl(url);
  const [host] = site?.Default === "yes" ? [] : (site?.Hostnames.split(" ") ?? []);
  const options = [config.tls ? "-k " : "", host ? `-H ${quoteWord(`Host: ${host}`)} ` : ""].join("");
  const curl = (sent: string) =>
    `curl ${options}-H "X-API-AUTH: ${sent}" ${quoteWord(`${reachable}${basePath}brands.json`)}`;
  if (key) {
    printMessage("\nTry the sample site `demo` with its key. Save the key, because it can't be shown again:");
    printText(`\n  ${curl(key)}\n\n`);
  } else if (site) {
    printMessage("\nThis database already has sites, so no sample site was created. Create a key and try it:");
    printText(`\n  KEY=$(${commandLine(["key", "create", "--site", site.Name], database)})\n  ${curl("$KEY")}\n\n`);
  }
  if (adminUrl && link) {
    const another = linkLine("demo", adminUrl, database);
    printMessage(`Open the console with this link. It works once, for 10 minutes. For another: ${another}`);
    printText(`\n  ${signInLink(adminUrl, link)}\n\n`);
  } else if (adminUrl) {
    const another = linkLine("<name>", adminUrl, database);
    printMessage(`The console is at ${adminUrl}. For a sign-in link: ${another}`);
  }
}

/** The command that prints a sign-in link to the console at `url`. @param database the value of `--database`, if given */
function linkLine(name: string, url: string, database: string | undefined): string {
  return commandLine(["operator", "link", name, ...(isDefault(url) ? [] : ["--url", toConnectableUrl(url)])], database);
}

/** Whether `operator link` would use this address without `--url`. */
function isDefault(url: string): boolean {
  try {
    return consoleUrl(undefined) === url;
  } catch {
    return false;
  }
}
