// The sample site of `serve --demo`, and how to try it.

import type { Config } from "../config.ts";
import { makeDemo } from "../operator/demo.ts";
import { listSites, type SiteRecord } from "../operator/sites.ts";
import { printMessage, withNewEngine } from "./common.ts";
import { commandLine, quoted } from "./shell.ts";
import { printText } from "./stdout.ts";

interface DemoSite {
  /** Undefined when the database had sites already. */
  readonly key: string | undefined;
  /** The site to try. */
  readonly site: SiteRecord | undefined;
}

/** Creates the sample site if the database has no site. Returns the site to try. */
export function prepareDemo({ database }: Config, as: string | undefined): Promise<DemoSite> {
  return withNewEngine({ database, ...(as === undefined ? {} : { as }) }, async (engine) => {
    const key = await makeDemo(engine, Date.now());
    const sites = await listSites(engine);
    return { key, site: sites.find((site) => site.Default === "yes") ?? sites[0] };
  });
}

/** Prints a curl command that works as it is. */
export function printDemo(url: string, config: Config, { key, site }: DemoSite, database: string | undefined): void {
  const reachable = url.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]");
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
}
