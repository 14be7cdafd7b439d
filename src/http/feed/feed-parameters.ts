import { findNearest, formatHint } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";
import { type KeyRights, readRight } from "../../model/key-rights.ts";
import { defaultFeedLimit, maxFeedWaitSeconds, maxPageSize } from "../../model/limits.ts";
import type { Resource } from "../../model/resource.ts";
import { firstCursor } from "../../store/database/cursor.ts";
import { parseNumber, parseSingle, splitValues } from "../common/parameters.ts";

export interface FeedParameters {
  /** The cursor to start after, not checked yet; or `now` for an empty page with the current cursor. */
  readonly since: string;
  /** Maximum changes per page, before `collapse`. */
  readonly limit: number;
  /** How long to wait for a change if the page is empty. */
  readonly waitMs: number;
  readonly resources: readonly Resource[];
  /** Whether the request names them. Otherwise, they're all that the key can read. */
  readonly isExplicit: boolean;
  /** Whether to return only the last change to each record in the page. */
  readonly isCollapsed: boolean;
}

/**
 * Parses the feed's parameters (contract section 10).
 * @param served all public resources
 * @param rights the key's
 * @throws ProblemError `bad-request` for a bad value
 */
export function parseFeedParameters(
  served: readonly Resource[],
  parameters: URLSearchParams,
  rights: KeyRights,
): FeedParameters {
  const wanted = splitValues(parameters, "resource");
  return {
    since: parseSingle(parameters, "since") ?? firstCursor,
    limit: parseNumber(parameters, "limit", { min: 1, max: maxPageSize, byDefault: defaultFeedLimit }),
    waitMs: 1000 * parseNumber(parameters, "wait", { min: 0, max: maxFeedWaitSeconds, byDefault: 0 }),
    resources:
      wanted === undefined ? served.filter((one) => rights.allows(readRight(one))) : parseResources(served, wanted),
    isExplicit: wanted !== undefined,
    isCollapsed: isOne("collapse", parseSingle(parameters, "collapse")),
  };
}

function isOne(name: string, value: string | undefined): boolean {
  if (value === undefined || value === "1") return value === "1";
  throw new ProblemError("bad-request", `\`${name}\` must be 1, not \`${value.slice(0, 40)}\`; or leave it out`);
}

function parseResources(served: readonly Resource[], wanted: readonly string[]): readonly Resource[] {
  const paths = served.map(({ path }) => path);
  const unknown = wanted.find((path) => !paths.includes(path));
  if (unknown === undefined) return served.filter(({ path }) => wanted.includes(path));
  const hint = formatHint(
    findNearest(unknown, paths),
    `the resources are ${paths.map((path) => `\`${path}\``).join(", ")}`,
  );
  throw new ProblemError("bad-request", `\`resource\`: unknown resource \`${unknown.slice(0, 100)}\`; ${hint}`);
}
