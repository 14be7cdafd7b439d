// The sample site of `serve --demo`, and how to try it.

import type { Config } from "../config.ts";
import { toReachable } from "../lib/loopback.ts";
import { makeDemo, makeDemoLink } from "../operator/demo.ts";
import { listSites, type SiteRecord } from "../operator/sites.ts";
import { printMessage, withNewEngine } from "./common.ts";
import { linkLine, signInLink } from "./console-address.ts";
import type { Server } from "./serve-processes.ts";
import { commandLine, quoted } from "./shell.ts";
import { printText } from "./stdout.ts";

export interface DemoSite {
  /** Whether the database was created for it. */
  readonly isNew: boolean;
  /** Undefined when the database had sites already. */
  readonly key: string | undefined;
  /** The site to try. */
  readonly site: SiteRecord | undefined;
  /** The secret of a link for the operator `demo`; undefined when the database has other operators only. */
  readonly link: string | undefined;
}

/** Creates the sample site if the database has no site. Returns the site to try. */
export function prepareDemo({ database }: Config, as: string | undefined): Promise<DemoSite> {
  return withNewEngine({ database, ...(as === undefined ? {} : { as }) }, async (engine) => {
    const key = await makeDemo(engine, Date.now());
    const sites = await listSites(engine);
    const link = await makeDemoLink(engine, Date.now());
    return { isNew: engine.isNew === true, key, site: sites.find((site) => site.Default === "yes") ?? sites[0], link };
  });
}

/** Prints a curl command that works as it is, and a link to the console. */
export function printDemo(
  { url, adminUrl }: Pick<Server, "url" | "adminUrl">,
  config: Config,
  { key, site, link }: DemoSite,
  database: string | undefined,
): void {
  const reachable = toReachable(url);
  const [host] = site?.Default === "yes" ? [] : (site?.Hostnames.split(" ") ?? []);
  const options = [config.tls ? "-k " : "", host ? `-H ${quoted(`Host: ${host}`)} ` : ""].join("");
  const curl = (sent: string) =>
    `curl ${options}-H "X-API-AUTH: ${sent}" ${quoted(`${reachable}/restapi/brands.json`)}`;
  if (key) {
    printMessage("\nThe sample site `demo` has a key. Save it: it cannot be shown again. Try it:");
    printText(`\n  ${curl(key)}\n\n`);
  } else if (site) {
    printMessage(
      "\nThe database has sites already, so no sample site was created. Keys are shown only once; create another one and try it:",
    );
    printText(`\n  KEY=$(${commandLine(["key", "create", "--site", site.Name], database)})\n  ${curl("$KEY")}\n\n`);
  }
  if (adminUrl && link) {
    const another = linkLine("demo", adminUrl, database);
    printMessage(`The console opens with this link, once and within 10 minutes. For another: ${another}`);
    printText(`\n  ${signInLink(adminUrl, link)}\n\n`);
  } else if (adminUrl) {
    const another = linkLine("<name>", adminUrl, database);
    printMessage(`The console is at ${adminUrl}. For a link to sign in with: ${another}`);
  }
}
