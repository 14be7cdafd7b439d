// The file that `storefront apply` reads and `storefront describe` writes. Each setting is declared once: how the schema describes it, how it's checked,
// and how it's stored. What a server has is translated into the words of the file and compared there, so that only differences in meaning count.

import { isDeepStrictEqual } from "node:util";
import type { ObjectShape, ScalarShape, Shape } from "../../formats/yaml.ts";
import { parseUtcTime, toDuration } from "../../lib/text.ts";
import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import { hostnameOf, parseHostname } from "../../model/hostname.ts";
import { allRights, KeyRights, scopes, toKeyRights } from "../../model/key-rights.ts";
import { parseRecordChanges, type Values } from "../../model/record.ts";
import { publicResources } from "../../model/resource.ts";
import { allResources } from "../../resources/all.ts";
import { key as keyResource } from "../../resources/key.ts";
import { site as siteResource } from "../../resources/site.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import { readSystemRecords } from "../../system/read-system-records.ts";
import { toInstant } from "../../system/system-changes.ts";
import {
  type KeyRecord,
  maxKeyNetworks,
  type SiteRecord,
  type SystemRecords,
  splitWords,
  toApiKey,
  type WebhookRecord,
} from "../../system/system-records.ts";
import { type AddressPolicy, parseAllowedUrl } from "../../webhooks/address-policy.ts";
import { webhookRefOf } from "../webhooks/webhook-list.ts";
import { operatorPause } from "../webhooks/webhooks.ts";
import { parseNetwork } from "./keys.ts";
import { requireChangeableSite } from "./sites.ts";

type Value = string | number | boolean | readonly string[];

/** A key or webhook in a file. What's missing is left alone. */
export type Entry = Readonly<Record<string, Value | undefined>>;

/** A site in a file. */
export interface SiteEntry {
  readonly name: string;
  readonly hostnames?: readonly string[];
  readonly default?: boolean;
  readonly sandbox?: boolean;
  readonly keys?: readonly Entry[];
  readonly webhooks?: readonly Entry[];
}

interface Setting {
  readonly shape: Shape;
  /** The record's field. */
  readonly field: string;
  readonly toFile: (stored: string) => Value;
  /** @param at milliseconds since 1970: when a key was created; otherwise now */
  readonly toStored: (value: Value, at: number) => string;
}

type Settings = Readonly<Record<string, Setting>>;

/** In a list. */
const maxEntries = 10_000;

const siteSettings: Settings = {
  name: text("Identifies the site.", "Name"),
  hostnames: {
    ...list("All hostnames of the site.", "Hostnames", { type: "string", parse: parseHostname }),
    toFile: (stored) => splitWords(stored).map(hostnameOf).sort(),
  },
  default: flag("Whether the site is also served for hostnames that no site has.", "Default", () => "yes"),
  suspended: flag("Whether all requests to the site are rejected.", "Suspended", toInstant),
  keyWebhooks: flag("Whether API keys with the right can manage webhooks.", "KeyWebhooks", () => "", "no"),
};

const rights: readonly string[] = [...scopes, ...allRights(allResources)];

const keySettings: Settings = {
  label: text("What the key is for. Identifies the key in its site.", "Label"),
  prefix: text("Identifies the key instead of its label: how it starts, as `key list` shows it.", "Prefix"),
  can: {
    ...list("What the key can do. `write` includes `read`. Default: [write].", "Scope", { enum: rights }),
    toFile: (stored) => rights.filter((word) => splitWords(toKeyRights(stored).text).includes(word)),
    toStored: (words) => new KeyRights(words as readonly string[]).text,
  },
  from: list(
    "Networks from which the key can be used. `[]` for all.",
    "Networks",
    { parse: parseNetwork },
    maxKeyNetworks,
  ),
  rate: {
    ...text("Requests per second, or `default` for the server's limit.", "Rate", ["integer", "string"]),
    toFile: (stored) => (stored === "" ? "default" : Number(stored)),
    toStored: (value) => (value === "default" ? "" : String(value)),
  },
  expires: {
    ...text("When the key expires: `never`, a UTC time such as 2027-01-31, or an age such as 90d.", "Expires"),
    toFile: (stored) => stored || "never",
    toStored: (value, created) => toExpiry(String(value), created),
  },
};

const paths = publicResources(allResources).map(({ path }) => path);

const webhookSettings: Settings = {
  url: text("Where changes are sent. Identifies the webhook in its site.", "URL"),
  id: {
    ...text("Identifies the webhook instead of its URL: its ID, as `webhook list` shows it.", "ID", "integer"),
    toFile: Number,
  },
  resources: list("The records whose changes are sent. `[]` for all. Can't be changed later.", "Resources", {
    enum: paths,
  }),
  paused: flag("Whether delivery is paused.", "Paused", toInstant),
};

/** What files list. `by` identifies an entry, and so does `handle` if several have the same `by`, or it's to be changed. */
export const kinds = {
  site: { kind: "site", resource: siteResource, settings: siteSettings },
  key: { kind: "key", resource: keyResource, settings: keySettings, by: "label", handle: "prefix" },
  webhook: { kind: "webhook", resource: webhookResource, settings: webhookSettings, by: "url", handle: "id" },
} as const;

export type OwnedKind = (typeof kinds)["key" | "webhook"];

function text(description: string, field: string, type: ScalarShape["type"] = "string"): Setting {
  return { shape: { description, type }, field, toFile: (stored) => stored, toStored: String };
}

/** @param on what's stored for true @param off what's stored for false */
function flag(description: string, field: string, on: (at: number) => string, off = ""): Setting {
  const toStored = (value: Value, at: number) => (value ? on(at) : off);
  return { shape: { description, type: "boolean" }, field, toFile: (stored) => stored !== off, toStored };
}

function list(description: string, field: string, words: Partial<ScalarShape>, maxItems = maxEntries): Setting {
  const toStored = (value: Value) => [...new Set(value as readonly string[])].join(" ");
  const shape = { description, type: "array", items: { type: "string", ...words }, maxItems } as const;
  return { shape, field, toFile: (stored) => splitWords(stored).sort(), toStored };
}

/** @returns what's stored @throws ProblemError `bad-request` */
function toExpiry(sent: string, created: number): string {
  if (sent === "never") return "";
  const duration = toDuration(sent);
  const at = duration === undefined ? parseUtcTime(sent) : created + duration;
  if (at !== undefined) return toInstant(at);
  const detail = `invalid time \`${sent.slice(0, 100)}\`: use \`never\`, a UTC time (2027-01-31 or 2027-01-31T12:00Z), or an age (90d)`;
  throw new ProblemError("bad-request", detail);
}

/** @param policy checks the URLs of webhooks, if it's given */
export function sitesShape(policy?: AddressPolicy): ObjectShape {
  const object = (properties: Readonly<Record<string, Shape>>, ...required: readonly string[]): ObjectShape => {
    return { type: "object", properties, required, additionalProperties: false };
  };
  const entries = (description: string, items: ObjectShape): Shape => {
    return { description, type: "array", items, maxItems: maxEntries };
  };
  const site = object(
    {
      ...shapesOf(kinds.site),
      sandbox: { description: "Whether the site has a sandbox.", type: "boolean" },
      keys: entries("The site's API keys. With --prune, others are revoked.", object(shapesOf(kinds.key))),
      webhooks: entries(
        "The site's webhooks. With --prune, others that an operator made are removed.",
        object(shapesOf(kinds.webhook, policy)),
      ),
    },
    "name",
  );
  const schema = { description: "The address of this schema, for editors.", type: "string" } as const;
  const all = entries("The server's sites. With --prune, others are removed.", site);
  return object({ sites: all, $schema: schema }, "sites");
}

/** Texts are checked as they would be stored. */
function shapesOf(
  { resource, settings }: OwnedKind | typeof kinds.site,
  policy?: AddressPolicy,
): Readonly<Record<string, Shape>> {
  const shapes = Object.entries(settings).map(([name, { shape, field, toStored }]): [string, Shape] => {
    const parse = (sent: string) => {
      if (policy && name === "url") return parseAllowedUrl(sent, policy).url.href;
      parseRecordChanges(resource, { [field]: toStored(sent, 0) });
      return sent;
    };
    const isText = shape.type !== "array" && shape.type !== "boolean" && shape.type !== "integer";
    return [name, isText ? ({ ...shape, parse } as Shape) : shape];
  });
  return Object.fromEntries(shapes);
}

/** The document at `/schemas/sites.json`. */
export function sitesSchemaDocument() {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "/schemas/sites.json",
    title: "Sites as code",
    description: "The sites of a server with their keys and webhooks, for `storefront apply`.",
    ...sitesShape(),
  };
}

/** A site that files can describe. A sandbox is part of its site, and an incomplete site isn't anyone's yet. */
interface PresentSite {
  readonly record: SiteRecord;
  readonly entry: Entry;
  readonly sandbox: SiteRecord | undefined;
  /** Without those that have expired, been revoked or been rotated. The replacement of a rotated key stands for it. */
  readonly keys: readonly Owned<KeyRecord>[];
  /** What operators made. The others belong to the programs that made them by API. */
  readonly webhooks: readonly Owned<WebhookRecord>[];
  /** Webhooks that have no secret yet, because an operator's command was interrupted. */
  readonly incomplete: readonly WebhookRecord[];
}

/** A key or webhook. */
export interface Owned<T> {
  readonly record: T;
  readonly entry: Entry;
  /** What `handle` can be. */
  readonly handles: readonly string[];
}

/** Translates what's on the server. @param now in milliseconds since 1970 @returns sites by name */
export async function readPresentSites(
  engine: Engine,
  { sites, keys, webhooks }: SystemRecords,
  now: number,
): Promise<ReadonlyMap<string, PresentSite>> {
  const home = await engine.readDatabaseId();
  const states = await engine.readWebhookStates(webhooks.map(webhookRefOf));
  const homes = new Map(states.map((state) => [state.webhook, state.home]));
  const former = new Set(keys.flatMap(({ Revoked, Former }) => (Revoked === "" ? splitWords(Former) : [])));
  const ownKeys = keys
    .filter((key) => toApiKey(key).endsAt > now && !former.has(key.Prefix))
    .map((record) => {
      const handles = [record.Prefix, ...splitWords(record.Former)];
      return { record, entry: describe(keySettings, record), handles };
    });
  const byOperators = webhooks.filter(({ Key }) => Key === "");
  const ownWebhooks = byOperators
    .filter(({ ID }) => homes.has(ID))
    .map((record) => {
      const { ID, Paused, Reason } = record;
      // The server has paused it, or another one did, from which the database was copied. A file wouldn't ask for that.
      const isHeld = homes.get(ID) !== home || (Paused !== "" && Reason !== operatorPause);
      const entry = { ...describe(webhookSettings, record), ...(isHeld ? { paused: undefined } : {}) };
      return { record, entry, handles: [`${ID}`] };
    });
  const keysOf = Map.groupBy(ownKeys, ({ record }) => record.Site);
  const webhooksOf = Map.groupBy(ownWebhooks, ({ record }) => record.Site);
  const incompleteOf = Map.groupBy(byOperators, ({ ID, Site }) => (homes.has(ID) ? undefined : Site));
  const complete = sites.filter(({ Importing }) => Importing === "");
  const sandboxes = new Map(complete.map((site) => [site.SandboxOf, site]));
  const present = complete.flatMap((record): [string, PresentSite][] => {
    const id = `${record.ID}`;
    const owned = {
      keys: keysOf.get(id) ?? [],
      webhooks: webhooksOf.get(id) ?? [],
      incomplete: incompleteOf.get(id) ?? [],
    };
    const site = { record, entry: describe(siteSettings, record), sandbox: sandboxes.get(id), ...owned };
    return record.SandboxOf === "" ? [[record.Name, site]] : [];
  });
  return new Map(present);
}

function describe(settings: Settings, record: object): Entry {
  const fields = new Map<string, unknown>(Object.entries(record));
  const entries = Object.entries(settings);
  return Object.fromEntries(entries.map(([name, { field, toFile }]) => [name, toFile(`${fields.get(field)}`)]));
}

/** @param names default: all sites @throws ProblemError `not-found`, or `conflict` for a sandbox or a site that's being imported */
export async function describeSites(engine: Engine, names: readonly string[], now: number): Promise<object[]> {
  const system = await readSystemRecords(engine);
  const present = await readPresentSites(engine, system, now);
  for (const name of names) requireChangeableSite(system.sites, name);
  return [...new Set(names.length > 0 ? names : present.keys())].sort().map((name) => {
    const { entry, sandbox, keys, webhooks } = present.get(name) as PresentSite;
    const owned = { keys: toEntries(kinds.key, keys), webhooks: toEntries(kinds.webhook, webhooks) };
    return { ...entry, sandbox: sandbox !== undefined, ...owned };
  });
}

/** Adds handles only where they're needed. */
function toEntries({ by, handle }: OwnedKind, owned: readonly Owned<unknown>[]): Entry[] {
  const entries = owned.map(({ entry }) => entry);
  const same = Map.groupBy(entries, (entry) => entry[by]);
  const orderOf = (entry: Entry) => `${entry[by]}\n${entry[handle]}`;
  return entries
    .sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
    .map(({ [handle]: own = "", ...entry }) => {
      const isUnique = entry[by] !== "" && same.get(entry[by])?.length === 1;
      return isUnique ? entry : { [handle]: own, ...entry };
    });
}

/**
 * @param present undefined for something new
 * @returns the values that `wanted` changes, and for each a text such as `rate default → 20`, except for the name of something new
 */
export function compare(
  { settings }: { readonly settings: Settings },
  wanted: Entry,
  present: Entry | undefined,
  at: number,
) {
  const values: Values = {};
  const details: string[] = [];
  for (const [name, { field, toFile, toStored }] of Object.entries(settings)) {
    const sent = wanted[name];
    if (sent === undefined) continue;
    const stored = toStored(sent, at);
    const [before, after] = present ? [present[name], toFile(stored)] : [undefined, sent];
    if (isDeepStrictEqual(before, after)) continue;
    values[field] = stored;
    details.push(`${name} ${describeChange(before, after)}`);
  }
  // The first setting identifies it.
  return { values, details: details.slice(present ? 0 : 1) };
}

function describeChange(before: Value | undefined, after: Value): string {
  if (typeof after !== "object") return [...(before === undefined ? [] : [before]), after].map(showText).join(" → ");
  if (typeof before !== "object") return after.join(", ") || "[]";
  const added = after.filter((word) => !before.includes(word)).map((word) => `+${word}`);
  return [...added, ...before.filter((word) => !after.includes(word)).map((word) => `-${word}`)].join(" ");
}

/** Quotes a label that could look like another part of the plan. */
export function showText(value: unknown): string {
  const text = String(value);
  return /^(?:[!-~]+|[\p{L}\p{N}][\p{L}\p{N} _./-]*)$/u.test(text) ? text : JSON.stringify(text);
}
