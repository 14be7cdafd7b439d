// The context of a request on its way to its response, and the view of its site after authorization.

import type { ProblemError } from "../model/errors.ts";
import type { Head } from "../model/head.ts";
import type { HeadQueryResult } from "../store/reads/head-queries.ts";
import type { SiteView } from "../store/reads/site-views.ts";
import type { ApiKey, Site } from "../system/system-records.ts";
import type { WireRequest } from "../wire/request.ts";
import type { RequestTarget } from "./common/request-target.ts";
import type { RequestId } from "./request-ids.ts";

/** Why a key was rejected. The response doesn't tell `unknown` and `expired or revoked` apart (contract section 1); the log and the metrics do. */
export type KeyRejection =
  | "missing"
  | "malformed"
  | "unknown"
  | "expired or revoked"
  | "of another site"
  | "read-only"
  | "over its rate";

/** An endpoint, as the metrics and the log describe it. */
export interface Endpoint {
  /** The name of the endpoint in the metrics and the log: its path, with `{id}` for an ID. Never a text that a client has chosen. */
  readonly label: string;
  /** All methods, in the order of `Allow`. */
  readonly methods: readonly string[];
  /** The label of GET and HEAD in the histogram of durations; undefined for an endpoint that needs no key. */
  readonly readOperation?: string;
  /** The label of the other methods in this histogram; by default `write`. */
  readonly writeOperation?: string;
  /** Whether the key may also be a bearer token, in `Authorization`; by default it may not. */
  readonly acceptsBearer?: boolean;
}

/** Summary of a batch request or an undo, for the log and the metrics. */
interface BatchSummary {
  /** The number of batch operations; of an undo, of records that its run has changed. */
  readonly operations: number;
  /** The run under which the changes were stored; null if nothing was stored. */
  readonly run: string | null;
  /** The numbers of its operations by result, for the metrics; undefined for a dry run, a replay and an undo. */
  readonly counts?: BatchCounts | undefined;
}

/** Numbers of batch operations by result. If a fault prevents a whole batch request, all its operations are rejected. */
export interface BatchCounts {
  readonly changed: number;
  readonly unchanged: number;
  readonly rejected: number;
}

/** The context of one request on its way to its response. */
export interface RequestContext {
  readonly request: WireRequest;
  readonly target: RequestTarget;
  /** The request ID, in `X-Request-Id` and in the log. */
  readonly id: RequestId;
  /** The endpoint of the path; undefined if the path does not exist, or the request could not be read. */
  readonly endpoint: Endpoint | undefined;
  /** The ID of the record in the path; undefined if the path has no ID or an invalid one. */
  readonly recordIdInPath: number | undefined;
  /** The effective method: the request's own, or on a POST the method in `X-HTTP-Method-Override`. */
  readonly method: string;
  /** Header fields about the key's rate limit, for every response to the request. Only authorizer.ts sets them. */
  rateLimit: Readonly<Record<string, string>> | undefined;
  /** Milliseconds spent in a long poll. The slow-request log subtracts them. */
  longPollMs: number;
  /** The site of the host. Only the folder `authorization` sets this and the next three members; mcp/read-request.ts copies them from the inner request. */
  site: Site | undefined;
  /** The key of the request, also if it was rejected; undefined if it is unknown. */
  key: ApiKey | undefined;
  /** The name of the sandbox that the key selects, in `X-Sandbox`; undefined for the live site. */
  sandbox: string | undefined;
  /** Why the key was rejected, for the log and the metrics; undefined if it was not. */
  keyRejection: KeyRejection | undefined;
  /** Whether the request is a dry run, so that every response to it has `X-Dry-Run`. Its route sets it. */
  isDryRun: boolean;
  /** The summary of a batch request or an undo; undefined for other requests. Its route sets it. */
  batch: BatchSummary | undefined;
  /** The error of the response; undefined for a response without an error. */
  problem: ProblemError | undefined;
  /** The heads that authorizer.ts read to resolve the site, until it has viewed the site; undefined if it read none. */
  heads: HeadQueryResult | undefined;
}

/** The key of an authorized request, and the view of its site. */
export interface AuthorizedView<View extends SiteView = SiteView> {
  readonly key: ApiKey;
  /** The view of the site that host and key select. */
  readonly siteView: View;
  /** The head of the system site as of which key and site are valid. */
  readonly systemHead: Head;
}
