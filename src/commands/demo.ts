// What `serve --demo` makes and tells.

import type { Config } from "../config.ts";
import { makeDemo } from "../operator/demo.ts";
import { listSites, type SiteRecord } from "../operator/sites.ts";
import { printMessage, withNewEngine } from "./common.ts";
import { printText } from "./stdout.ts";

interface DemoSite {
  /** Undefined when there were sites already. */
  readonly key: string | undefined;
  /** The site to try. */
  readonly site: SiteRecord | undefined;
}

/** Makes the sample site on an empty database, and finds the site to try on any. */
export function prepareDemo({ database }: Config): Promise<DemoSite> {
  return withNewEngine({ database }, async (engine) => {
    const key = await makeDemo(engine, Date.now());
    const sites = await listSites(engine);
    return { key, site: sites.find((site) => site.Default === "yes") ?? sites[0] };
  });
}

/** Prints a curl line that works when it is pasted. */
export function printDemo(url: string, config: Config, { key, site }: DemoSite, database: string | undefined): void {
  const reachable = url.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]");
  const [host] = site?.Default === "yes" ? [] : (site?.Hostnames.split(" ") ?? []);
  const options = [config.tls ? "-k " : "", host ? `-H ${quoted(`Host: ${host}`)} ` : ""].join("");
  const curl = (sent: string) =>
    `curl ${options}-H "X-API-AUTH: ${sent}" ${quoted(`${reachable}/restapi/brands.json`)}`;
  if (key) {
    printMessage("\nThe sample site `demo` has a key. Note it: it is shown this once. Try it:");
    printText(`\n  ${curl(key)}\n\n`);
  } else if (site) {
    const where = database === undefined ? "" : ` --database ${quoted(database)}`;
    printMessage(
      "\nThe database has sites already, so no sample was made. Keys are shown once; make another one and try it:",
    );
    printText(`\n  KEY=$(npx storefront key create --site ${site.Name}${where})\n  ${curl("$KEY")}\n\n`);
  }
}

/** As a shell reads it back. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
