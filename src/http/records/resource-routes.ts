// The endpoints of public resources: lists and records, in every format.
//
// While a request waits for its body, the database or other writes, its key may be revoked, its site suspended or removed, or the site's epoch may change.
// So it's authorized again after each wait, and if its authorization or view was outdated, the work is repeated.

import { type Format, formats } from "../../formats/format.ts";
import { BoundedCache } from "../../lib/bounded-cache.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { readRight, writeRight } from "../../model/key-rights.ts";
import { basePath, publicResources, type Resource } from "../../model/resource.ts";
import { Snapshot } from "../../store/memory/snapshot.ts";
import type { SiteView } from "../../store/reads/site-views.ts";
import type { WireResponse } from "../../wire/response.ts";
import { requireRights } from "../authorization/authenticate.ts";
import type { RequestAuthorizer } from "../authorization/authorizer.ts";
import { whileAuthorized } from "../authorization/while-authorized.ts";
import type { HttpDependencies } from "../dependencies.ts";
import type { QueryOwner } from "../parameter-advice.ts";
import type { QueryReader } from "../query.ts";
import { type AuthorizedView, type RequestContext, type ResourceRoute, siteRoute } from "../request-context.ts";
import type { RunningIdempotencyKeys } from "./idempotency.ts";
import { parseListParameters } from "./list-parameters.ts";
import { respondToRead } from "./read.ts";
import { rejectOtherEncodings } from "./record-body.ts";
import { type AuthorizedWrite, parseWriteParameters, respondToWrite } from "./write.ts";

interface ResourceRouteDependencies extends Pick<HttpDependencies, "engine" | "resources" | "writeQueue" | "now"> {
  readonly authorizer: RequestAuthorizer;
  readonly idempotencies: RunningIdempotencyKeys;
  readonly queries: QueryReader;
}

export function resourceRoutes(dependencies: ResourceRouteDependencies): [path: string, route: ResourceRoute][] {
  const endpoint = new ResourceEndpoint(dependencies);
  const toRoute = (isList: boolean, resource: Resource, format: Format): [string, ResourceRoute] => {
    const path = `${basePath}${resource.path}${isList ? "" : "/{id}"}.${format.name}`;
    const entry: [string, ResourceRoute] = siteRoute<Omit<ResourceRoute, "kind" | "label">>(path, {
      readOperation: isList ? "list" : "look-up",
      isList,
      resource,
      format,
      rights: { read: [readRight(resource)], write: [writeRight(resource)] },
      parseQuery: createQueryParser(dependencies.queries, {
        kind: isList ? "list" : "look-up",
        format,
        resources: [resource],
      }),
      methods: methodsOf(isList, resource),
      methodNotAllowedDetail: (method) => whyNot(method, entry[1]),
      respond: (context, authorized) => endpoint.respond(context, entry[1], authorized),
    });
    return entry;
  };
  return publicResources(dependencies.resources).flatMap((resource) =>
    formats.flatMap((format) => [toRoute(true, resource, format), toRoute(false, resource, format)]),
  );
}

/** Clients send only a few different queries, so parsed ones are cached. */
function createQueryParser(queries: QueryReader, owner: QueryOwner): ResourceRoute["parseQuery"] {
  const [resource] = owner.resources as readonly [Resource];
  const cache = new BoundedCache(256, 512, (query) => {
    const parameters = queries.read(query, owner);
    return parseListParameters(resource, parameters) ?? null;
  });
  return (query) => (query === "" ? undefined : (cache.get(query) ?? undefined));
}

function methodsOf(isList: boolean, { access }: Resource): string[] {
  const writing = isList ? ["POST", "PUT", "PATCH", "DELETE"] : ["PUT", "PATCH", "DELETE"];
  return ["GET", "HEAD", ...(access === "written" ? writing : []), "OPTIONS"];
}

function whyNot(method: string, { isList, resource, format }: ResourceRoute): string | undefined {
  const { access, path, plural } = resource;
  if (access === "read") return `${plural} are read-only`;
  if (method !== "POST" || isList) return undefined;
  return `create with POST \`${basePath}${path}.${format.name}\`; change this one with PUT or PATCH here`;
}

class ResourceEndpoint {
  readonly #dependencies: ResourceRouteDependencies;

  constructor(dependencies: ResourceRouteDependencies) {
    this.#dependencies = dependencies;
  }

  respond(context: RequestContext, route: ResourceRoute, authorized: AuthorizedView): MaybePromise<WireResponse> {
    const { method } = context;
    if (method !== "GET" && method !== "HEAD") return this.#write(context, route, authorized);
    requireRights(context, authorized.key, route.rights.read);
    // Reads go first: the write queue yields to the reads it has counted.
    this.#dependencies.writeQueue.countRead();
    const { siteView } = authorized;
    if (siteView instanceof Snapshot) return this.#read(context, route, siteView);
    return this.#dependencies.authorizer.repeatIfOutdated(context, authorized, (current) =>
      this.#read(context, route, current.siteView),
    );
  }

  /** Authorizes again if the read had to wait, or if the record comes from the database and may be newer than the check of the key. */
  #read(context: RequestContext, route: ResourceRoute, siteView: SiteView): MaybePromise<WireResponse> {
    const response = respondToRead(context, route, siteView);
    return siteView instanceof Snapshot && !(response instanceof Promise)
      ? response
      : this.#reauthorizeAfter(context, route, siteView, response);
  }

  async #reauthorizeAfter(
    context: RequestContext,
    { isList }: ResourceRoute,
    { siteId }: SiteView,
    response: MaybePromise<WireResponse>,
  ): Promise<WireResponse> {
    const { authorizer } = this.#dependencies;
    const made = await response;
    if (isList) return authorizer.reauthorize(context, () => made);
    // The engine read the system site's head along with the record, so the keys in memory include every change before the record.
    authorizer.reauthorizeInMemory(context, siteId);
    return made;
  }

  #write(context: RequestContext, route: ResourceRoute, authorized: AuthorizedView): Promise<WireResponse> {
    const { headers, receivedBody } = context.request;
    requireRights(context, authorized.key, route.rights.write);
    const idsInQuery = parseWriteParameters(context, route, this.#dependencies.queries);
    rejectOtherEncodings(headers);
    if (receivedBody) return this.#store(context, route, authorized, { body: receivedBody, idsInQuery });
    // While the body arrives, the key may be revoked or the site removed.
    return context.request
      .readBody()
      .then((body) =>
        this.#dependencies.authorizer.reauthorize(context, (again) =>
          this.#store(context, route, again, { body, idsInQuery }),
        ),
      );
  }

  /** Stores a write, unless it's a dry run. Repeats that if the key or the site changes in the meantime. */
  #store(
    context: RequestContext,
    route: ResourceRoute,
    authorized: AuthorizedView,
    received: Pick<AuthorizedWrite, "body" | "idsInQuery">,
  ): Promise<WireResponse> {
    const { authorizer, now } = this.#dependencies;
    const work = (current: AuthorizedView) =>
      respondToWrite(context, route, { ...received, authorized: current, at: now() }, this.#dependencies);
    // There's no transaction to check a dry run's key.
    if (context.isDryRun) return whileAuthorized(authorizer, context, authorized, { work, isStored: () => false });
    return authorizer.repeatIfOutdated(context, authorized, work);
  }
}
