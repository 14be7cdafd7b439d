// The Markdown files of the guide. They are imported, so that a single executable contains them.

import changelog from "../../../CHANGELOG.md" with { type: "text" };
import authentication from "../../../docs/authentication.md" with { type: "text" };
import clients from "../../../docs/clients.md" with { type: "text" };
import consolePage from "../../../docs/console.md" with { type: "text" };
import deploying from "../../../docs/deploying.md" with { type: "text" };
import errors from "../../../docs/errors.md" with { type: "text" };
import followingChanges from "../../../docs/following-changes.md" with { type: "text" };
import formats from "../../../docs/formats.md" with { type: "text" };
import gettingStarted from "../../../docs/getting-started.md" with { type: "text" };
import overview from "../../../docs/guide.md" with { type: "text" };
import importing from "../../../docs/importing.md" with { type: "text" };
import operating from "../../../docs/operating.md" with { type: "text" };
import pagingAndFiltering from "../../../docs/paging-and-filtering.md" with { type: "text" };
import ambiguousIdProblem from "../../../docs/problems/ambiguous-id.md" with { type: "text" };
import badRequestProblem from "../../../docs/problems/bad-request.md" with { type: "text" };
import conflictProblem from "../../../docs/problems/conflict.md" with { type: "text" };
import forbiddenProblem from "../../../docs/problems/forbidden.md" with { type: "text" };
import goneProblem from "../../../docs/problems/gone.md" with { type: "text" };
import headTooLargeProblem from "../../../docs/problems/head-too-large.md" with { type: "text" };
import idempotencyKeyReusedProblem from "../../../docs/problems/idempotency-key-reused.md" with { type: "text" };
import internalProblem from "../../../docs/problems/internal.md" with { type: "text" };
import invalidRecordProblem from "../../../docs/problems/invalid-record.md" with { type: "text" };
import methodNotAllowedProblem from "../../../docs/problems/method-not-allowed.md" with { type: "text" };
import notFoundProblem from "../../../docs/problems/not-found.md" with { type: "text" };
import notImplementedProblem from "../../../docs/problems/not-implemented.md" with { type: "text" };
import preconditionFailedProblem from "../../../docs/problems/precondition-failed.md" with { type: "text" };
import requestTimeoutProblem from "../../../docs/problems/request-timeout.md" with { type: "text" };
import siteSuspendedProblem from "../../../docs/problems/site-suspended.md" with { type: "text" };
import tooLargeProblem from "../../../docs/problems/too-large.md" with { type: "text" };
import tooManyRequestsProblem from "../../../docs/problems/too-many-requests.md" with { type: "text" };
import unauthorizedProblem from "../../../docs/problems/unauthorized.md" with { type: "text" };
import unavailableProblem from "../../../docs/problems/unavailable.md" with { type: "text" };
import unsupportedMediaTypeProblem from "../../../docs/problems/unsupported-media-type.md" with { type: "text" };
import wrongSiteProblem from "../../../docs/problems/wrong-site.md" with { type: "text" };
import safeRetries from "../../../docs/safe-retries.md" with { type: "text" };
import scaling from "../../../docs/scaling.md" with { type: "text" };
import upgrading from "../../../docs/upgrading.md" with { type: "text" };
import webhooks from "../../../docs/webhooks.md" with { type: "text" };
import examples from "../../../examples/README.md" with { type: "text" };
import type { Code } from "../../model/errors.ts";

/** The pages of the guide in reading order, by the last segment of their paths. */
export const guide = {
  guide: overview,
  "getting-started": gettingStarted,
  authentication,
  formats,
  errors,
  "paging-and-filtering": pagingAndFiltering,
  "safe-retries": safeRetries,
  "following-changes": followingChanges,
  webhooks,
  clients,
};

/** The pages for operators, which contain no examples that can run here. */
export const manual = { operating, console: consolePage, deploying, importing, upgrading, scaling };

/** Pages from other folders than docs/, by the last segment of their paths: the text, and the folder that its links are relative to. */
export const others = { examples: [examples, "../examples/"], changelog: [changelog, "../"] } as const;

/** The page of each problem type. */
export const problems: Readonly<Record<Code, string>> = {
  "bad-request": badRequestProblem,
  "invalid-record": invalidRecordProblem,
  "ambiguous-id": ambiguousIdProblem,
  unauthorized: unauthorizedProblem,
  forbidden: forbiddenProblem,
  "site-suspended": siteSuspendedProblem,
  "not-found": notFoundProblem,
  "method-not-allowed": methodNotAllowedProblem,
  "request-timeout": requestTimeoutProblem,
  conflict: conflictProblem,
  gone: goneProblem,
  "precondition-failed": preconditionFailedProblem,
  "too-large": tooLargeProblem,
  "head-too-large": headTooLargeProblem,
  "unsupported-media-type": unsupportedMediaTypeProblem,
  "wrong-site": wrongSiteProblem,
  "idempotency-key-reused": idempotencyKeyReusedProblem,
  "too-many-requests": tooManyRequestsProblem,
  "not-implemented": notImplementedProblem,
  internal: internalProblem,
  unavailable: unavailableProblem,
};
