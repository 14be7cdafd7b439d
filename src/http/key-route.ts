// GET /restapi/key.json and .xml: what the request's own API key is for and what it may do (contract section 1). Needs no right.

import { formats } from "../formats/format.ts";
import { allRights } from "../model/key-rights.ts";
import { basePath, publicResources, type Resource } from "../model/resource.ts";
import type { KeyDocument } from "../reference/key-schema.ts";
import type { ApiKey } from "../system/system-records.ts";
import { requireMatch } from "./conditional-requests.ts";
import type { QueryReader } from "./query.ts";
import { type RequestContext, type SiteRoute, siteRoute } from "./request-context.ts";
import { toResponse } from "./responses.ts";

interface KeyRouteDependencies {
  readonly resources: readonly Resource[];
  readonly queries: QueryReader;
}

export function keyRoutes({ resources, queries }: KeyRouteDependencies): [path: string, route: SiteRoute][] {
  const served = publicResources(resources);
  const rights = allRights(served);
  const toDocument = ({ rateLimit, sandbox, site }: RequestContext, key: ApiKey): KeyDocument => ({
    Prefix: key.prefix,
    Label: key.label,
    Site: sandbox ?? site?.name ?? "",
    SiteID: key.siteId,
    Sandbox: sandbox !== undefined,
    Rights: rights.filter((right) => key.rights.allows(right)),
    Networks: (key.networks ?? []).map(([first, bits]) => `${first}/${bits}`),
    Expires: Number.isFinite(key.endsAt) ? new Date(key.endsAt).toISOString() : null,
    Rate: rateLimit?.limit.tokensPerSecond ?? null,
    Burst: rateLimit?.limit.maxTokens ?? null,
    Remaining: rateLimit ? Math.max(0, rateLimit.remaining) : null,
  });
  return formats.map((format) =>
    siteRoute<Omit<SiteRoute, "kind" | "label">>(`${basePath}key.${format.name}`, {
      readOperation: "look-up",
      methods: ["GET", "HEAD", "OPTIONS"],
      methodNotAllowedDetail: () => "only the site's operator can change API keys",
      respond: (context, { key }) => {
        queries.read(context.target.query, { kind: "key", format, resources: served });
        requireMatch(context.request.headers, undefined);
        return toResponse(context, 200, {
          type: format.contentType,
          body: format.document("Key", { ...toDocument(context, key) }),
        });
      },
    }),
  );
}
