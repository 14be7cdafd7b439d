// Reads the files of `apply`, and finds all mistakes in them that don't depend on the server.

import {
  type KeyEntry,
  type SiteEntry,
  type SitesFile,
  sitesShape,
  type WebhookEntry,
} from "../../formats/sites-schema.ts";
import { decodeText } from "../../formats/text-encoding.ts";
import { Mistakes, readYaml } from "../../formats/yaml.ts";
import { ProblemError } from "../../model/errors.ts";
import { parseHostname } from "../../model/hostname.ts";
import { isStandardInput } from "../../operator/files/standard-streams.ts";
import type { WantedKey, WantedSite, WantedWebhook } from "../../operator/sites/apply-sites.ts";
import { toKeyValues } from "../../operator/sites/keys.ts";
import { allResources } from "../../resources/all.ts";
import { key as keyResource } from "../../resources/key.ts";
import { site as siteResource } from "../../resources/site.ts";
import { toUpdateIntent } from "../../system/system-changes.ts";
import { type AddressPolicy, resolveAllowedUrl } from "../../webhooks/address-policy.ts";
import { openInput } from "./input-file.ts";
import { parseDuration } from "./options.ts";
import { isAge, parseDeliveryStart, parseUtcTime } from "./points.ts";
import { UsageError } from "./usage-error.ts";

/** Of all files together, in bytes. */
const maxBytes = 4 << 20;

/**
 * @param files paths, or `-` for standard input
 * @returns the sites in all files, and where to report further mistakes
 * @throws ProblemError `invalid-record` with all mistakes, or as `openInput`
 */
export async function readSitesFiles(
  files: readonly string[],
  policy: AddressPolicy,
): Promise<{ sites: readonly WantedSite[]; mistakes: Mistakes }> {
  const mistakes = new Mistakes();
  const shape = sitesShape(allResources);
  const entries: SiteEntry[] = [];
  let size = 0;
  for (const file of files) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of openInput(file)) {
      size += chunk.length;
      if (size > maxBytes)
        throw new ProblemError("too-large", `the files have more than ${maxBytes >> 20} MiB; apply them in parts`);
      chunks.push(chunk);
    }
    const name = isStandardInput(file) ? "stdin" : file;
    const text = await decode(chunks, name);
    entries.push(...((readYaml(text, name, shape, mistakes) as SitesFile | undefined)?.sites ?? []));
  }
  const reader = new EntryReader(mistakes, policy);
  const sites: WantedSite[] = [];
  const names = new Map<string, SiteEntry>();
  let defaultSite: SiteEntry | undefined;
  for (const entry of entries) {
    const before = names.get(entry.name ?? "");
    if (before)
      mistakes.add(
        mistakes.placeOf(entry, "name"),
        `the site \`${entry.name}\` is already at ${mistakes.placeOf(before)}`,
      );
    if (entry.default && defaultSite)
      mistakes.add(
        mistakes.placeOf(entry, "default"),
        `there's only one default site, and \`${defaultSite.name}\` already is`,
      );
    if (entry.default) defaultSite ??= entry;
    if (entry.name === undefined || before) continue;
    names.set(entry.name, entry);
    sites.push(await reader.readSite(entry, entry.name));
  }
  mistakes.throwIfAny();
  return { sites, mistakes };
}

async function decode(chunks: readonly Uint8Array[], name: string): Promise<string> {
  try {
    return (await Array.fromAsync(decodeText(chunks, undefined, "; save it as UTF-8"))).join("");
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    throw new ProblemError(error.code, `${name}: ${error.message}`);
  }
}

class EntryReader {
  readonly #mistakes: Mistakes;
  /** Checks URLs without resolving their hostnames. */
  readonly #policy: AddressPolicy;

  constructor(mistakes: Mistakes, policy: AddressPolicy) {
    this.#mistakes = mistakes;
    this.#policy = { ...policy, lookup: async () => [] };
  }

  async readSite(entry: SiteEntry, name: string): Promise<WantedSite> {
    const { hostnames: sent, sandbox: hasSandbox, keys, webhooks } = entry;
    const mistakes = this.#mistakes;
    mistakes.check(entry, "name", () => toUpdateIntent(siteResource, 1, { Name: name }, 0));
    const hosts = sent?.flatMap((host, at) => mistakes.check(sent, at, () => parseHostname(host)) ?? []);
    const hostnames = hosts && [...new Set(hosts)];
    if (hostnames)
      mistakes.check(entry, "hostnames", () => toUpdateIntent(siteResource, 1, { Hostnames: hostnames.join(" ") }, 0));
    if (hasSandbox !== true)
      for (const one of [...(keys ?? []), ...(webhooks ?? [])])
        if (one.sandbox)
          mistakes.add(mistakes.placeOf(one, "sandbox"), `this needs \`sandbox: true\` at the site \`${name}\` too`);
    return {
      entry,
      name,
      hostnames,
      hasSandbox,
      keys:
        keys &&
        this.#unique(
          keys.map((key) => this.#readKey(key)),
          ({ entry }) => entry.prefix ?? entry.label,
          "label",
        ),
      webhooks:
        webhooks && this.#unique(await this.#readWebhooks(webhooks), ({ entry, url }) => entry.id ?? url, "url"),
    };
  }

  /** Leaves out entries that don't say which key or webhook they mean, or mean the same as an earlier one. */
  #unique<T extends WantedKey | WantedWebhook>(
    wanted: T[],
    identify: (one: T) => unknown,
    member: "label" | "url",
  ): T[] {
    const known = new Map<string, T>();
    const mistakes = this.#mistakes;
    return wanted.filter((one) => {
      const { entry } = one;
      const identity = identify(one);
      const before = known.get(`${entry.sandbox ?? false} ${identity}`);
      if (!identity && !(Object.hasOwn(entry, member) && identity === undefined))
        mistakes.add(mistakes.placeOf(entry, member), "give the key a `label`, or the `prefix` of the key you mean");
      else if (before && identity)
        mistakes.add(
          mistakes.placeOf(entry, member),
          `the same ${member} is already at ${mistakes.placeOf(before.entry)}`,
        );
      if (!identity || before) return false;
      known.set(`${entry.sandbox ?? false} ${identity}`, one);
      return true;
    });
  }

  #readKey(entry: KeyEntry): WantedKey {
    const { label, scope, can, from, rate, expires } = entry;
    const mistakes = this.#mistakes;
    const changes = {
      label,
      rights: scope === undefined ? can : [scope, ...(can ?? [])],
      networks: from?.join() === "any" ? [] : from,
      rate: rate === "default" ? null : rate,
    };
    const { rights, networks, ...others } = changes;
    // No rights at all is what `describe` writes for a key that has lost them. It's rejected later, unless the key is still like that.
    mistakes.check(entry, "can", () => toKeyValues({ rights: rights?.length ? rights : undefined }));
    mistakes.check(entry, "from", () => toKeyValues({ networks }));
    mistakes.check(entry, "label", () => toUpdateIntent(keyResource, 1, toKeyValues(others), 0));
    const expiresAt = expires === undefined ? undefined : mistakes.check(entry, "expires", () => parseExpiry(expires));
    return { entry, changes, expiresAt };
  }

  async #readWebhooks(entries: readonly WebhookEntry[]): Promise<WantedWebhook[]> {
    const mistakes = this.#mistakes;
    const read: WantedWebhook[] = [];
    for (const entry of entries) {
      const { url: sent = "", since: start } = entry;
      const since =
        mistakes.check(entry, "since", () => (start === undefined ? "now" : parseDeliveryStart("time", start))) ??
        "now";
      const resolved =
        sent === "" ? undefined : await resolveAllowedUrl(sent, this.#policy).catch((error) => error as Error);
      if (resolved instanceof Error)
        mistakes.check(entry, "url", () => {
          throw resolved;
        });
      else if (resolved) read.push({ entry, since, url: resolved.url.href });
    }
    return read;
  }
}

function parseExpiry(text: string): WantedKey["expiresAt"] {
  if (text === "never") return () => null;
  if (isAge(text)) {
    const duration = parseDuration(text);
    return (createdAt) => createdAt + duration;
  }
  const at = parseUtcTime(text);
  if (at !== undefined) return () => at;
  throw new UsageError(
    `invalid time \`${text}\`: use \`never\`, a UTC time (2027-01-31 or 2027-01-31T12:00Z), or an age (90d)`,
  );
}
