// The file that `storefront apply` reads and `storefront describe` writes, declared once, as JSON Schema. `/schemas/sites.json` serves it for editors, and
// formats/yaml.ts checks files with it, so it only uses the keywords of `Shape`. What a hostname or right may be is checked by the functions that the
// other commands use too.

import { allRights, scopes } from "../model/key-rights.ts";
import { publicResources, type Resource } from "../model/resource.ts";

/** The part of JSON Schema that we need. */
export type Shape = ObjectShape | ListShape | ScalarShape | WordOrShape;

interface Described {
  readonly description?: string;
}

export interface ObjectShape extends Described {
  readonly type: "object";
  readonly properties: Readonly<Record<string, Shape>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

export interface ListShape extends Described {
  readonly type: "array";
  readonly items: Shape;
  readonly maxItems: number;
}

export type ScalarShape = Described &
  (
    | { readonly type: "string"; readonly enum?: readonly string[] }
    | { readonly type: "boolean" }
    | { readonly type: "integer"; readonly minimum: number; readonly maximum: number }
  );

/** A word, or something else. */
interface WordOrShape extends Described {
  readonly anyOf: readonly [{ readonly const: string }, Shape];
}

export interface SitesFile {
  readonly sites?: readonly SiteEntry[];
}

/** Members that are missing are left alone. */
export interface SiteEntry {
  readonly name?: string;
  readonly hostnames?: readonly string[];
  readonly default?: boolean;
  readonly suspended?: boolean;
  readonly keyWebhooks?: boolean;
  readonly sandbox?: boolean;
  readonly keys?: readonly KeyEntry[];
  readonly webhooks?: readonly WebhookEntry[];
}

export interface KeyEntry {
  readonly label?: string;
  readonly prefix?: string;
  readonly sandbox?: boolean;
  readonly scope?: string;
  readonly can?: readonly string[];
  readonly from?: readonly string[];
  readonly rate?: number | "default";
  readonly expires?: string;
}

export interface WebhookEntry {
  readonly url?: string;
  readonly id?: number;
  readonly sandbox?: boolean;
  readonly resources?: readonly string[];
  readonly paused?: boolean;
  readonly since?: string;
}

export const sitesSchemaPath = "/schemas/sites.json";

/** Sites in all files of a run, and list entries in each. */
const maxSites = 10_000;
const maxEntries = 1000;

const boolean = (description: string): Shape => ({ description, type: "boolean" });
const string = (description: string): Shape => ({ description, type: "string" });
const list = (description: string, items: Shape, maxItems = maxEntries): Shape => ({
  description,
  type: "array",
  items,
  maxItems,
});
const object = (properties: Readonly<Record<string, Shape>>, required: readonly string[] = []): Shape => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

export function sitesShape(resources: readonly Resource[]): Shape {
  const inSandbox = (what: string) => boolean(`Whether the ${what} belongs to the site's sandbox.`);
  const paths = publicResources(resources).map(({ path }) => path);
  const key = object({
    label: string("What the key is for. Identifies the key, so it must be unique in its site."),
    prefix: string("Identifies the key instead of its label: how the key starts, as `key list` shows it."),
    sandbox: inSandbox("key"),
    scope: {
      description: "What the key can do, in short; `write` includes reading. A new key without `can` gets `write`.",
      type: "string",
      enum: scopes,
    },
    can: list("Single rights, in addition to `scope`.", { type: "string", enum: allRights(resources) }),
    from: list("Networks from which the key can be used. `[]` for all.", { type: "string" }),
    rate: {
      description: "Requests per second, or `default` for the server's limit.",
      anyOf: [{ const: "default" }, { type: "integer", minimum: 1, maximum: 999_999 }],
    },
    expires: string("When the key expires: `never`, a UTC time such as 2027-01-31, or an age such as 90d."),
  });
  const webhook = object(
    {
      url: string("Where changes are sent. Identifies the webhook, so it must be unique in its site."),
      id: {
        description: "Identifies the webhook instead of its URL: its ID, as `webhook list` shows it.",
        type: "integer",
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
      },
      sandbox: inSandbox("webhook"),
      resources: list("The records whose changes are sent. `[]` for all.", { type: "string", enum: paths }),
      paused: boolean("Whether delivery is paused."),
      since: string(
        "Where a new webhook starts: a cursor, a UTC time, or an age such as 12h. Default: the next change.",
      ),
    },
    ["url"],
  );
  const site = object(
    {
      name: string("Name of the site. Identifies it."),
      hostnames: list("All hostnames of the site.", { type: "string" }),
      default: boolean("Whether the site is also served for hostnames that no site has."),
      suspended: boolean("Whether all requests to the site are rejected."),
      keyWebhooks: boolean("Whether API keys with the right can manage webhooks."),
      sandbox: boolean("Whether the site has a sandbox."),
      keys: list("The site's API keys. With --prune, others are revoked.", key),
      webhooks: list("The site's webhooks. With --prune, others that an operator made are removed.", webhook),
    },
    ["name"],
  );
  return object({ sites: list("The server's sites. With --prune, others are removed.", site, maxSites) }, ["sites"]);
}

/** Returns the document at `/schemas/sites.json`. */
export function sitesSchemaDocument(resources: readonly Resource[]) {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: sitesSchemaPath,
    title: "Sites as code",
    description: "The sites of a server with their keys and webhooks, for `storefront apply`.",
    ...sitesShape(resources),
  };
}
