import { isIPv4 } from "node:net";
import { hostnameOf } from "../model/hostname.ts";

/**
 * A function that returns whether the admin listener responds to a `Host`: an IP address, `localhost`, or one of `names`. A page on the web can
 * make a browser send requests to this listener under the page's own hostname (DNS rebinding), but not under any of these.
 * @param names in their normal form (`readHostname`)
 */
export function createHostCheck(names: readonly string[]): (host: string | null) => boolean {
  const allowed = new Set(["localhost", ...names]);
  return (host) => {
    if (host === null || !plain.test(host)) return false;
    const name = hostnameOf(host);
    return allowed.has(name) || isIPv4(name) || (name.startsWith("[") && URL.canParse(`http://${name}/`));
  };
}

/** A host with or without a port, and nothing that two programs could read differently. */
const plain = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$/;
