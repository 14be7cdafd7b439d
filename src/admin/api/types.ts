// The shapes of the console API's responses and bodies. The server and the console both import these types, so renaming a member on one side only
// fails the type check. The console is a separate program, so this file has no imports and no values.
//
// Names end in `Response` for a whole response, `Body` for a request body, and `Info` for something inside a response. Times are ISO 8601 strings.
// Bodies are read as `ReceivedBody` (json-body.ts): their member names are known, but their values aren't trusted.

/** What an action requires the operator's role to allow, in the sites they can access (model/operator-role.ts). */
export type RightInfo = "read" | "read-settings" | "records" | "settings";

export interface SessionInfo extends Pick<OperatorInfo, "sites" | "role"> {
  readonly id: number;
  readonly operator: string;
  readonly rights: readonly RightInfo[];
  readonly expires: string;
}

/** How people can sign in to this server. */
export interface SignInWaysInfo {
  readonly singleSignOn: boolean;
  /** Where people sign out at the provider; null if it doesn't say. */
  readonly signOutUrl: string | null;
  /** Whether links work, other than break-glass ones. */
  readonly links: boolean;
}

/** The operator is null if nobody is signed in. `isRevoked` says whether that's because the session's operator was removed. */
export type SessionResponse = (SessionInfo | { readonly operator: null; readonly isRevoked: boolean }) & {
  readonly ways: SignInWaysInfo;
};

export interface SignInBody {
  /** The link's secret. */
  readonly link: string;
  /** The ID of the signed-in operator, if the link may replace that operator's session. */
  readonly insteadOf?: number | undefined;
}

// Resources and sites

export interface FieldInfo {
  /** The dotted path, such as `Address.Town`. */
  readonly path: string;
  readonly max: number;
  readonly required: boolean;
  readonly description: string;
  readonly example: string;
  readonly pattern: { readonly source: string; readonly fault: FaultInfo } | null;
}

/** Why a value is invalid: a code with its parameters (the console has its own words for some codes), and the server's text. */
export interface FaultInfo {
  readonly code: string;
  readonly detail: string;
  readonly max?: number | undefined;
  /** Of a country's name: its code. */
  readonly suggestion?: string | undefined;
}

export interface ResourceInfo {
  readonly name: string;
  readonly path: string;
  readonly singular: string;
  readonly plural: string;
  readonly fields: readonly FieldInfo[];
}

/** `maxSearchLength` is the maximum length of a search, in characters. */
export type ResourcesResponse = {
  readonly resources: readonly ResourceInfo[];
  readonly maxSearchLength: number;
  /** Encodings that imported files can have. */
  readonly encodings: readonly string[];
  /** Their codes of two letters. */
  readonly countries: readonly string[];
};

export interface SiteInfo {
  readonly id: number;
  readonly name: string;
  readonly hostnames: readonly string[];
  readonly isDefault: boolean;
  /** When the site was suspended; null if it's active. */
  readonly suspended: string | null;
  /** Until when an import has reserved the site; null if the site is complete. */
  readonly importing: string | null;
  /** The ID of a sandbox's live site; null for a live site. */
  readonly sandboxOf: number | null;
  /** Whether API keys with the right can manage its webhooks. */
  readonly keyWebhooks: boolean;
}

/** The sites the operator can access, and the public listener's URL, which integrations use. */
export type SitesResponse = { readonly sites: readonly SiteInfo[]; readonly publicUrl: string };

/** A new site's members. By default it has no hostnames and no key, and isn't the default site. A key `withKey` can only read. */
export interface NewSiteBody {
  readonly name: string;
  readonly hostnames?: readonly string[];
  readonly isDefault?: boolean;
  readonly withKey?: boolean;
}

/** The members to change. */
export type SiteBody = Partial<Omit<NewSiteBody, "withKey">> & { readonly isSuspended?: boolean };

export interface SiteResponse {
  readonly site: SiteInfo;
  readonly run: string;
}

export interface NewSiteResponse extends SiteResponse {
  /** The new key, which can't be read again. Null if none was requested. */
  readonly key: string | null;
}

/** A site and the number of records, keys and webhooks that removing it would delete. */
export interface SiteSummaryResponse {
  readonly site: SiteInfo;
  readonly keys: number;
  readonly validKeys: number;
  readonly webhooks: number;
  /** Number of records by resource path. */
  readonly records: Readonly<Record<string, number>>;
  readonly revision: number;
  readonly changed: string | null;
}

/** A new or refreshed sandbox, with the number of copied records, and of its keys and webhooks. */
export interface SandboxResponse extends SiteResponse, Pick<SiteSummaryResponse, "keys" | "webhooks"> {
  readonly isNew: boolean;
  readonly records: number;
}

// The overview

export interface TrafficPointInfo {
  readonly at: string;
  readonly seconds: number;
  readonly requests: number;
  /** Number of responses with status 500 or above. */
  readonly errors: number;
  readonly writes: number;
  /** Median response time in milliseconds, not counting feed requests; null if there were none. */
  readonly p50: number | null;
  /** 99% of these requests took no longer than this. */
  readonly p99: number | null;
}

export type TrafficResponse = { readonly points: readonly TrafficPointInfo[] };

export interface OverviewResponse extends Pick<SiteSummaryResponse, "records" | "validKeys" | "changed"> {
  /** Keys that expire within 30 days. */
  readonly endingKeys: readonly KeyInfo[];
  readonly webhooks: readonly WebhookInfo[];
  readonly lastBackup: string | null;
}

/** A key's requests in the last 24 hours, since the server started. */
export interface KeyTrafficInfo extends Pick<KeyInfo, "id" | "prefix" | "label" | "lastUsed"> {
  readonly requests: number;
  /** Number of responses with status 400 or above. */
  readonly errors: number;
  /** Request counts for each of the `hours`. */
  readonly requestsByHour: readonly number[];
  readonly errorsByHour: readonly number[];
}

export interface KeyTrafficResponse {
  /** When counting started, which is when the server did. */
  readonly since: string;
  /** Start times of the last 24 hours, oldest first, ending with the current hour. */
  readonly hours: readonly string[];
  /** The 100 keys with the most requests, busiest first. Keys without requests are left out. */
  readonly keys: readonly KeyTrafficInfo[];
}

// Requests

/** A logged request, without its key or body. Of its query, only values the interface declares are logged. */
export interface LoggedRequestInfo {
  /** Unique in the log. */
  readonly id: string;
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly bytes: number;
  readonly request: string;
  /** The key, or null if the request had none, or something that isn't a key. `label` is null if the site has no such key. */
  readonly key: { readonly prefix: string; readonly label: string | null } | null;
  readonly problem: {
    readonly code: string;
    readonly title: string;
    readonly detail: string;
    readonly errors: readonly { readonly field: string; readonly detail: string }[];
  } | null;
  /** Number of requests just before it that weren't logged, because there were too many in one second. */
  readonly leftOut: number;
}

export interface RequestsResponse {
  /** The last 200 requests that match the filter, newest first. */
  readonly requests: readonly LoggedRequestInfo[];
  /** Whether all of the server's processes answered. */
  readonly isComplete: boolean;
}

// Keys

/** A key, also as commands print it with `--json` (operator/sites/keys.ts). */
export interface KeyInfo {
  readonly id: number;
  readonly site: string;
  readonly prefix: string;
  readonly label: string;
  /** Null if it only has single rights. */
  readonly scope: "read" | "write" | null;
  /** Its scope and single rights (model/key-rights.ts), without those that others include. */
  readonly can: readonly string[];
  /** All that it may do. */
  readonly rights: readonly string[];
  /** The networks from which it can be used; empty for all. */
  readonly networks: readonly string[];
  /** Requests per second; null for the server's default. */
  readonly rate: number | null;
  readonly created: string;
  readonly expires: string | null;
  readonly revoked: string | null;
  readonly lastUsed: string | null;
  /** Prefixes of up to 20 keys that it replaced by rotation, newest first. */
  readonly former: readonly string[];
  readonly state: "valid" | "expired" | "revoked";
  /** Whether the key is active but expires within 30 days. */
  readonly endsSoon: boolean;
}

export interface KeysResponse {
  readonly keys: readonly KeyInfo[];
  /** All rights there are. */
  readonly rights: readonly string[];
}

/** Settings of a new key, or those to change. */
export interface KeyBody {
  readonly label?: string;
  /** `scope` and `can` together replace what the key may do. */
  readonly scope?: "read" | "write";
  readonly can?: readonly string[];
  readonly networks?: readonly string[];
  readonly rate?: number | null;
  readonly expires?: string | null;
}

/** How many hours the old key keeps working. */
export type RotationBody = { readonly overlap: number };

export interface NewKeyResponse extends KeyInfo {
  /** The new key, which can't be read again. */
  readonly key: string;
  readonly run: string;
}

// Operators

export interface OperatorInfo {
  readonly id: number;
  readonly name: string;
  /** Names of the sites the operator can access; null for all sites. */
  readonly sites: readonly string[] | null;
  /** `unknown` if another version of the program stored a role this one doesn't know. */
  readonly role: RoleInfo | "unknown";
  /** The provider that identifies the operator and decides on sites and role, and its ID for them; null if they sign in with links. */
  readonly singleSignOn: { readonly issuer: string; readonly subject: string } | null;
  readonly created: string;
  /** When they last signed in; null if they never did, or in the response to a change. */
  readonly signedIn: string | null;
}

/** An operator's role: read-only, everything but settings, or everything. */
export type RoleInfo = "viewer" | "editor" | "admin";

export type OperatorsResponse = { readonly operators: readonly OperatorInfo[] };
export type OperatorResponse = { readonly operator: OperatorInfo; readonly run: string };
/** Without `role`, the new operator can do everything. */
export type NewOperatorBody = Pick<OperatorInfo, "name" | "sites"> & { readonly role?: RoleInfo };

/** With `isLast`, even the last admin of all sites can be removed or limited. */
export type OperatorRemovalBody = { readonly isLast?: boolean };

/** What to change: the sites, the role, or both. */
export interface OperatorBody extends OperatorRemovalBody, Partial<Pick<OperatorInfo, "sites">> {
  readonly role?: RoleInfo;
}

/** A sign-in link's secret. The page builds the URL, because it knows its own address. */
export type LinkResponse = { readonly secret: string };

// The audit log

/** What an entry is about. */
export type LogSubjectInfo =
  | "keys"
  | "webhooks"
  | "operators"
  | "sites"
  | "sign-ins"
  | "refusals"
  | "imports"
  | "exports"
  | "backups";

type LoggedValues = Readonly<Record<string, string | number>>;

/** A change to a key, webhook, operator or site, or an event such as a sign-in, whose `after` says what happened. */
export interface LogEntryInfo {
  readonly revision: number;
  readonly at: string;
  readonly actor: string;
  /** The name of the key that's the actor; null if it has none, or someone else is. */
  readonly actorLabel: string | null;
  readonly run: string | null;
  /** Null if only another version of the program knows it. */
  readonly subject: LogSubjectInfo | null;
  /** A path, such as `keys` or `events`. */
  readonly resource: string;
  readonly operation: "create" | "update" | "delete";
  readonly id: number;
  readonly name: string;
  /** The site it's about; its name is null if it was removed. */
  readonly site: { readonly id: number; readonly name: string | null } | null;
  /** The record's values without secrets. */
  readonly before: LoggedValues | null;
  readonly after: LoggedValues | null;
}

/** Newest first. `next` is `before` for the next page; null if this is the last one. A page can be short even if it isn't. */
export type LogResponse = { readonly entries: readonly LogEntryInfo[]; readonly next: number | null };

// Webhooks

/** A webhook, also as commands print it with `--json` (operator/webhooks/webhook-list.ts). */
export interface WebhookInfo {
  readonly id: number;
  readonly site: string;
  readonly url: string;
  /** The resources' paths; empty for all resources. */
  readonly resources: readonly string[];
  readonly created: string;
  /** Prefix of the API key that made it; null if an operator did. */
  readonly key: string | null;
  readonly paused: string | null;
  /** Who paused it, as in the journal; null if nobody in particular did. */
  readonly pausedBy: string | null;
  readonly status: "active" | "failing" | "paused" | "incomplete";
  readonly detail: string;
  /** Number of changes not delivered yet; null if the cursor belongs to another epoch. */
  readonly behind: number | null;
  /** Whether there may be more, because counting them all would have taken too long. */
  readonly behindIsMinimum: boolean;
  readonly cursor: string | null;
  /** How often the webhook was rewound. */
  readonly rewinds: number;
  /** Failed attempts since the last success. `failingSince` is the time of the first one. */
  readonly failures: number;
  readonly failingSince: string | null;
  /** When the next attempt is due; null if it needn't wait. */
  readonly nextAt: string | null;
}

/** A webhook in the list, with its latest attempt or test; null if there was none. */
export interface ListedWebhookInfo extends WebhookInfo {
  readonly last: DeliveryInfo | null;
  /** Why the latest failed attempt failed, if the webhook is failing, or was paused because it kept failing. */
  readonly reason: string | null;
}

export type WebhooksResponse = { readonly webhooks: readonly ListedWebhookInfo[] };

/** The URL to deliver to from now on. */
export type WebhookBody = Pick<WebhookInfo, "url">;

/** `isResolved` says whether the URL's hostname can currently be resolved. */
export type ChangedWebhookResponse = WebhookInfo & Pick<NewWebhookResponse, "isResolved">;

/** Delivery starts after this cursor or time. */
export type RewindBody = { readonly since: { readonly cursor: string } | { readonly time: string } };

/** Without `resources`, a webhook sends changes to all of them. Without `since`, it starts with the next change. */
export interface NewWebhookBody extends Partial<RewindBody> {
  readonly url: string;
  readonly resources?: readonly string[];
}

export interface NewWebhookResponse extends WebhookInfo {
  readonly secret: string;
  /** Whether the URL's hostname can currently be resolved. */
  readonly isResolved: boolean;
}

export type RotatedWebhookResponse = WebhookInfo & { readonly secret: string; readonly until: string };

/** A delivery attempt, or a test. */
export interface AttemptInfo {
  readonly at: string;
  readonly status: number | null;
  readonly milliseconds: number;
  readonly fault: string | null;
}

/** An attempt from a webhook's history, which numbers them from 1. */
export interface DeliveryInfo extends AttemptInfo {
  readonly number: number;
}

/** `exchanges` is how many of the latest attempts still have their request and response. */
export type DeliveriesResponse = { readonly deliveries: readonly DeliveryInfo[]; readonly exchanges: number };

/** A request to a receiver, or its response, with secrets removed. */
interface ExchangedMessageInfo {
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The first 8 KiB of the body, or if it isn't text, its first 512 bytes in hexadecimal. */
  readonly body: string;
  readonly isText: boolean;
  /** The length of the whole body in bytes, or of as much of a response as was read. */
  readonly bytes: number;
}

export interface ExchangeResponse {
  readonly url: string;
  readonly request: ExchangedMessageInfo;
  /** Null if there was no response. */
  readonly response: ExchangedMessageInfo | null;
}
