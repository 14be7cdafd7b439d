// The shapes of the console's API: what responses have, and what bodies must have. The server and the console import these types, so that the type
// check fails if only one of them renames a member. The console is a program of its own, so this file imports nothing and has no values.
//
// A name ends in `Response` for a whole response, in `Body` for a request, and in `Info` for a thing within a response. Times are texts in ISO 8601.
// A body is read as `ReceivedBody` (json-body.ts): its members are known, and their values are not trusted.

/** A right of an operator in the shops that the operator may manage, which an action needs (model/operator-role.ts). */
export type RightInfo = "read" | "read-settings" | "records" | "settings";

export interface SessionInfo extends Pick<OperatorInfo, "sites" | "role"> {
  readonly id: number;
  readonly operator: string;
  readonly rights: readonly RightInfo[];
  readonly expires: string;
}

/** The operator is null if nobody is signed in. */
export type SessionResponse = SessionInfo | { readonly operator: null };

export interface SignInBody {
  readonly link: string;
  /** ID of the signed-in operator, if the link may replace that operator's session. */
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

/** Why a value is refused: a code with its parameters (the console words some codes itself), and the text of the server. */
export interface FaultInfo {
  readonly code: string;
  readonly detail: string;
  readonly max?: number | undefined;
}

export interface ResourceInfo {
  readonly name: string;
  readonly path: string;
  readonly singular: string;
  readonly plural: string;
  readonly fields: readonly FieldInfo[];
}

/** `maxSearchLength` is the maximum number of characters of a search. */
export type ResourcesResponse = {
  readonly resources: readonly ResourceInfo[];
  readonly maxSearchLength: number;
  /** The encodings of files that can be imported. */
  readonly encodings: readonly string[];
};

export interface SiteInfo {
  readonly id: number;
  readonly name: string;
  readonly hostnames: readonly string[];
  readonly isDefault: boolean;
  /** Time of the suspension; null for a site that is served. */
  readonly suspended: string | null;
  /** Time until which an import has reserved the site; null if the site is complete. */
  readonly importing: string | null;
  /** ID of the live site whose sandbox it is; null for a live site. */
  readonly sandboxOf: number | null;
}

/** The sites that the operator may manage, and the URL of the public listener, which programs of integrators use. */
export type SitesResponse = { readonly sites: readonly SiteInfo[]; readonly publicUrl: string };

/** The members of a new site. By default, it has no hostname, is not the default site, and gets no key. */
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
  /** The new key. It cannot be read again. Null if no key was requested. */
  readonly key: string | null;
}

/** A site with the numbers of its records, keys and webhooks, which a removal would delete. */
export interface SiteSummaryResponse {
  readonly site: SiteInfo;
  readonly keys: number;
  readonly validKeys: number;
  readonly webhooks: number;
  /** The number of records of each resource, by its path. */
  readonly records: Readonly<Record<string, number>>;
  readonly revision: number;
  readonly changed: string | null;
}

/** A sandbox that was made or renewed, and the numbers of its copied records, of its keys and of its webhooks. */
export interface SandboxResponse extends SiteResponse, Pick<SiteSummaryResponse, "keys" | "webhooks"> {
  readonly isNew: boolean;
  readonly records: number;
}

// The overview

export interface TrafficPointInfo {
  readonly at: string;
  readonly seconds: number;
  readonly requests: number;
  /** Number of responses with a status of 500 or more. */
  readonly errors: number;
  readonly writes: number;
  /** Median duration of the requests in milliseconds, without feed requests; null if there were none. */
  readonly p50: number | null;
  /** The duration that 99 % of these requests did not exceed. */
  readonly p99: number | null;
}

export type TrafficResponse = { readonly points: readonly TrafficPointInfo[] };

export interface OverviewResponse extends Pick<SiteSummaryResponse, "records" | "validKeys" | "changed"> {
  /** The keys that expire within 30 days. */
  readonly endingKeys: readonly KeyInfo[];
  readonly webhooks: readonly WebhookInfo[];
  readonly lastBackup: string | null;
}

/** The requests of a key in the last 24 hours, as far as the server counts. */
export interface KeyTrafficInfo extends Pick<KeyInfo, "id" | "prefix" | "label" | "lastUsed"> {
  readonly requests: number;
  /** Number of responses with a status of 400 or more. */
  readonly errors: number;
  /** The requests in each hour of `hours`. */
  readonly requestsByHour: readonly number[];
  readonly errorsByHour: readonly number[];
}

export interface KeyTrafficResponse {
  /** Since when requests are counted: the counts begin with the start of the server. */
  readonly since: string;
  /** The beginnings of the last 24 hours, the oldest first. The last one is the present hour. */
  readonly hours: readonly string[];
  /** The 100 keys with most requests, the busiest first. Keys without requests are left out. */
  readonly keys: readonly KeyTrafficInfo[];
}

// Requests

/** A request of the log. It has no key, no body, and only those values of its query that the interface declares. */
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
  /** The key; null if the request had none, or something else in its place. The label is null if the site has no such key. */
  readonly key: { readonly prefix: string; readonly label: string | null } | null;
  readonly problem: {
    readonly code: string;
    readonly title: string;
    readonly detail: string;
    readonly errors: readonly { readonly field: string; readonly detail: string }[];
  } | null;
  /** The number of requests before it that are not in the log, because there were too many in one second. */
  readonly leftOut: number;
}

export interface RequestsResponse {
  /** The last 200 requests that pass the filter, the latest first. */
  readonly requests: readonly LoggedRequestInfo[];
  /** Whether all processes of the server have answered. */
  readonly isComplete: boolean;
}

// Keys

/** A key, also in the output of commands with `--json` (operator/sites/keys.ts). */
export interface KeyInfo {
  readonly id: number;
  readonly site: string;
  readonly prefix: string;
  readonly label: string;
  readonly scope: "read" | "write";
  /** Requests per second; null for the default of the server. */
  readonly rate: number | null;
  readonly created: string;
  readonly expires: string | null;
  readonly revoked: string | null;
  readonly lastUsed: string | null;
  /** Prefixes of the keys that it has replaced by rotation, the latest first; at most 20. */
  readonly former: readonly string[];
  readonly state: "valid" | "expired" | "revoked";
  /** Whether a valid key expires within 30 days. */
  readonly endsSoon: boolean;
}

export type KeysResponse = { readonly keys: readonly KeyInfo[] };

/** The settings of a new key, or the settings to change. The scope of a key cannot change. */
export interface KeyBody {
  readonly label?: string;
  readonly scope?: KeyInfo["scope"];
  readonly rate?: number | null;
  readonly expires?: string | null;
}

/** The hours for which the old key still works. */
export type RotationBody = { readonly overlap: number };

export interface NewKeyResponse extends KeyInfo {
  /** The new key. It cannot be read again. */
  readonly key: string;
  readonly run: string;
}

// Operators

export interface OperatorInfo {
  readonly id: number;
  readonly name: string;
  /** Names of the sites that the operator may manage; null for all sites. */
  readonly sites: readonly string[] | null;
  /** `unknown` if another program version has stored a role that this one does not know. */
  readonly role: RoleInfo | "unknown";
  readonly created: string;
}

/** A role that an operator can have: everything, everything except settings, or only reading. */
export type RoleInfo = "all" | "records" | "read";

export type OperatorsResponse = { readonly operators: readonly OperatorInfo[] };
export type OperatorResponse = { readonly operator: OperatorInfo; readonly run: string };
/** Without `role`, a new operator may do everything. */
export type NewOperatorBody = Pick<OperatorInfo, "name" | "sites"> & { readonly role?: RoleInfo };

/** `isLast` is a permission: if true, even the last operator of all sites who has all rights is removed or limited. */
export type OperatorRemovalBody = { readonly isLast?: boolean };

/** The members to change: the sites, the role, or both. */
export interface OperatorBody extends OperatorRemovalBody, Partial<Pick<OperatorInfo, "sites">> {
  readonly role?: RoleInfo;
}

/** The secret of a sign-in link. The page makes the URL, because it knows its own address. */
export type LinkResponse = { readonly secret: string };

// Webhooks

/** A webhook, also in the output of commands with `--json` (operator/webhooks/webhook-list.ts). */
export interface WebhookInfo {
  readonly id: number;
  readonly site: string;
  readonly url: string;
  /** Paths of the resources; an empty list for all resources. */
  readonly resources: readonly string[];
  readonly created: string;
  readonly paused: string | null;
  readonly status: "active" | "failing" | "paused" | "incomplete";
  readonly detail: string;
  /** Number of changes that are not delivered yet; null if the cursor belongs to another epoch. */
  readonly behind: number | null;
  readonly cursor: string | null;
  /** The number of times that the webhook was rewound. */
  readonly rewinds: number;
  /** Failed attempts since the last success, and the time of the first of them. */
  readonly failures: number;
  readonly failingSince: string | null;
  /** The earliest time of the next attempt; null if it need not wait. */
  readonly nextAt: string | null;
}

/** A webhook in the list, with its last attempt, also a test; null if there was none. */
export interface ListedWebhookInfo extends WebhookInfo {
  readonly last: DeliveryInfo | null;
  /** Why the last failed attempt failed, if the webhook is failing or was paused for that. */
  readonly reason: string | null;
}

export type WebhooksResponse = { readonly webhooks: readonly ListedWebhookInfo[] };

/** The URL to which the webhook shall deliver from now on. */
export type WebhookBody = Pick<WebhookInfo, "url">;

/** `isResolved`: whether the name in the URL has an address at the moment. */
export type ChangedWebhookResponse = WebhookInfo & Pick<NewWebhookResponse, "isResolved">;

/** The cursor or the time after which delivery begins. */
export type RewindBody = { readonly since: { readonly cursor: string } | { readonly time: string } };

/** Without `resources`, a webhook follows all resources. Without `since`, it begins with the next change. */
export interface NewWebhookBody extends Partial<RewindBody> {
  readonly url: string;
  readonly resources?: readonly string[];
}

export interface NewWebhookResponse extends WebhookInfo {
  readonly secret: string;
  /** Whether the name in the URL has an address at the moment. */
  readonly isResolved: boolean;
}

export type RotatedWebhookResponse = WebhookInfo & { readonly secret: string; readonly until: string };

/** An attempt to deliver, or a test. */
export interface AttemptInfo {
  readonly at: string;
  readonly status: number | null;
  readonly milliseconds: number;
  readonly fault: string | null;
}

/** An attempt that is kept. The attempts of a webhook are numbered from 1. */
export interface DeliveryInfo extends AttemptInfo {
  readonly number: number;
}

/** `exchanges`: the number of attempts of which the request and the response are kept. */
export type DeliveriesResponse = { readonly deliveries: readonly DeliveryInfo[]; readonly exchanges: number };

/** A request to a receiver, or its response, without secrets. */
interface ExchangedMessageInfo {
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The first 8 KiB of the body; if it is not text, its first 512 bytes as hexadecimal digits. */
  readonly body: string;
  readonly isText: boolean;
  /** The length of the whole body in bytes, of a response as far as it was read. */
  readonly bytes: number;
}

export interface ExchangeResponse {
  readonly url: string;
  readonly request: ExchangedMessageInfo;
  /** Null if there was none. */
  readonly response: ExchangedMessageInfo | null;
}
