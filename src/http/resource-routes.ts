// The endpoints of the resources: for each public resource, its list and its records, in every format.
//
// A request can wait for its body, for the database or for other writes. During the wait, its key may be revoked, its site suspended or removed, or
// the site's epoch may change. So the request is authorized again after each wait. If the epoch has changed during a read, or the key or site during
// a write, the work is repeated.

import { type Format, formats } from "../formats/format.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { EpochChangedError } from "../model/errors.ts";
import { publicResources, type Resource } from "../model/resource.ts";
import type { SiteView } from "../store/reads/site-views.ts";
import { UncachedSite } from "../store/reads/uncached-site.ts";
import type { ApiKey } from "../system/system-records.ts";
import type { BodyBytes } from "../wire/request-body.ts";
import type { WireResponse } from "../wire/response.ts";
import { requireWriteScope } from "./authenticate.ts";
import type { RequestAuthorizer } from "./authorizer.ts";
import type { RequestContext } from "./handler.ts";
import { respondToRead } from "./read.ts";
import { readBody } from "./record-body.ts";
import { basePath, type ResourceRoute, siteRoute } from "./route.ts";
import type { HttpDependencies } from "./server.ts";
import { KeyChangedError, RunningIdempotencyKeys, write } from "./write.ts";

interface ResourceRouteDependencies extends Pick<HttpDependencies, "resources" | "snapshots" | "writeQueue" | "now"> {
  readonly authorizer: RequestAuthorizer;
}

/** Returns the routes of all public resources, by path. */
export function resourceRoutes(dependencies: ResourceRouteDependencies): [path: string, route: ResourceRoute][] {
  const endpoint = new ResourceEndpoint(dependencies);
  const toRoute = (isList: boolean, resource: Resource, format: Format): [string, ResourceRoute] => {
    const path = `${basePath}${resource.path}${isList ? "" : "/{id}"}.${format.name}`;
    const entry: [string, ResourceRoute] = siteRoute<Omit<ResourceRoute, "kind" | "label">>(path, {
      readOperation: isList ? "list" : "look-up",
      isList,
      resource,
      format,
      methods: methodsOf(isList, resource),
      methodNotAllowedDetail: (method) => whyNot(method, entry[1]),
      respond: (context, key, siteView) => endpoint.respond(context, entry[1], key, siteView),
    });
    return entry;
  };
  return publicResources(dependencies.resources).flatMap((resource) =>
    formats.flatMap((format) => [toRoute(true, resource, format), toRoute(false, resource, format)]),
  );
}

/** Returns the methods of a route (contract section 3). */
function methodsOf(isList: boolean, { access }: Resource): string[] {
  const writing = isList ? ["POST", "PUT", "PATCH", "DELETE"] : ["PUT", "PATCH", "DELETE"];
  return ["GET", "HEAD", ...(access === "written" ? writing : []), "OPTIONS"];
}

function whyNot(method: string, { isList, resource, format }: ResourceRoute): string | undefined {
  const { access, path, plural } = resource;
  if (access === "read") return `${plural} can only be read`;
  if (method !== "POST" || isList) return undefined;
  return `create with POST \`${basePath}${path}.${format.name}\`; change this one with PUT or PATCH here`;
}

/** Maximum attempts for a read whose site changes epoch, and for a write whose key or site changes. */
const maxAttempts = 3;

class ResourceEndpoint {
  readonly #dependencies: ResourceRouteDependencies;
  readonly #idempotencies = new RunningIdempotencyKeys();

  constructor(dependencies: ResourceRouteDependencies) {
    this.#dependencies = dependencies;
  }

  respond(context: RequestContext, route: ResourceRoute, key: ApiKey, siteView: SiteView): MaybePromise<WireResponse> {
    const { method } = context;
    if (method !== "GET" && method !== "HEAD") return this.#write(context, route, key);
    this.#dependencies.writeQueue.countRead();
    return this.#read(context, route, siteView);
  }

  #read(context: RequestContext, route: ResourceRoute, siteView: SiteView, attempt = 1): MaybePromise<WireResponse> {
    try {
      const response = respondToRead(context, route, siteView);
      if (response instanceof Promise) return this.#readLater(context, route, siteView, attempt, response);
      // A record that was just read from the database can be newer than the check of the key.
      return siteView instanceof UncachedSite ? this.#checkAgain(context, route, siteView, response) : response;
    } catch (error) {
      return this.#readAgain(context, route, attempt, error);
    }
  }

  async #readLater(
    context: RequestContext,
    route: ResourceRoute,
    siteView: SiteView,
    attempt: number,
    response: Promise<WireResponse>,
  ): Promise<WireResponse> {
    try {
      return await this.#checkAgain(context, route, siteView, await response);
    } catch (error) {
      return this.#readAgain(context, route, attempt, error);
    }
  }

  /** Reads again if the error was a change of the site's epoch, at most twice. Otherwise throws `error`. */
  #readAgain(
    context: RequestContext,
    route: ResourceRoute,
    attempt: number,
    error: unknown,
  ): MaybePromise<WireResponse> {
    if (!(error instanceof EpochChangedError) || attempt === maxAttempts) throw error;
    return this.#dependencies.authorizer.reauthorize(context, (_, now) => this.#read(context, route, now, attempt + 1));
  }

  /** Authorizes again, because the key may have been revoked or the site removed while the response was made. Returns `made`. */
  #checkAgain<T>(context: RequestContext, { isList }: ResourceRoute, { site }: SiteView, made: T): MaybePromise<T> {
    const { authorizer } = this.#dependencies;
    if (isList) return authorizer.reauthorize(context, () => made);
    // The engine has read the head of the system site together with the record, so the keys in memory have all changes before the record.
    authorizer.reauthorizeInMemory(context, site);
    return made;
  }

  #write(context: RequestContext, route: ResourceRoute, key: ApiKey): MaybePromise<WireResponse> {
    requireWriteScope(context, key);
    const body = readBody(context.request);
    return body instanceof Promise ? this.#writeLater(context, route, body) : this.#store(context, route, key, body);
  }

  async #writeLater(context: RequestContext, route: ResourceRoute, body: Promise<BodyBytes>): Promise<WireResponse> {
    return this.#storeChecked(context, route, await body, 1);
  }

  /** Authorizes again and then writes, because the key may have been revoked or the site removed while the body arrived or the write was queued. */
  #storeChecked(
    context: RequestContext,
    route: ResourceRoute,
    body: BodyBytes,
    attempt: number,
  ): MaybePromise<WireResponse> {
    return this.#dependencies.authorizer.reauthorize(context, (key) => {
      requireWriteScope(context, key);
      return this.#store(context, route, key, body, attempt);
    });
  }

  #store(
    context: RequestContext,
    route: ResourceRoute,
    key: ApiKey,
    body: BodyBytes,
    attempt = 1,
  ): Promise<WireResponse> {
    const { snapshots, writeQueue, now } = this.#dependencies;
    const author = { key, system: snapshots.systemHead, at: now() };
    return write(context, route, author, body, writeQueue, this.#idempotencies).catch((error) => {
      if (!(error instanceof KeyChangedError) || attempt === maxAttempts) throw error;
      return this.#storeChecked(context, route, body, attempt + 1);
    });
  }
}
