// The endpoints of the resources: for each public resource, its list and its records, in every format.
//
// A request can wait for its body, for the database or for other writes. During the wait, its key may be revoked, its site suspended or removed, or
// the site's epoch may change. So the request is authorized again after each wait. If the epoch has changed during a read, or the key or site during
// a write, the work is repeated.

import { type Format, formats } from "../formats/format.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { OtherHistory } from "../model/errors.ts";
import { type Resource, servedOf } from "../model/resource.ts";
import type { FreshSite } from "../store/reads/site-views.ts";
import { ColdSite } from "../store/reads/uncached-site.ts";
import type { BodyBytes } from "../wire/request-body.ts";
import type { WireResponse } from "../wire/response.ts";
import { requireWrite } from "./authenticate.ts";
import type { Admission } from "./authorizer.ts";
import type { Key } from "./directory.ts";
import type { Exchange } from "./handler.ts";
import { read } from "./read.ts";
import { readBody } from "./record-body.ts";
import { basePath, type ResourceRoute, siteRoute } from "./route.ts";
import type { HttpDependencies } from "./server.ts";
import { Idempotencies, KeyChanged, write } from "./write.ts";

interface ResourceRouteDependencies extends Pick<HttpDependencies, "resources" | "snapshots" | "writeQueue" | "now"> {
  readonly admission: Admission;
}

/** Returns the routes of all public resources, by path. */
export function resourceRoutes(dependencies: ResourceRouteDependencies): [path: string, route: ResourceRoute][] {
  const endpoint = new ResourceEndpoint(dependencies);
  const toRoute = (isList: boolean, resource: Resource, format: Format): [string, ResourceRoute] => {
    const path = `${basePath}${resource.path}${isList ? "" : "/{id}"}.${format.name}`;
    const entry: [string, ResourceRoute] = siteRoute<Omit<ResourceRoute, "kind" | "label">>(path, {
      reading: isList ? "list" : "look-up",
      isList,
      resource,
      format,
      methods: methodsOf(isList, resource),
      whyNot: (method) => whyNot(method, entry[1]),
      respond: (exchange, key, fresh) => endpoint.respond(exchange, entry[1], key, fresh),
    });
    return entry;
  };
  return servedOf(dependencies.resources).flatMap((resource) =>
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
  readonly #idempotencies = new Idempotencies();

  constructor(dependencies: ResourceRouteDependencies) {
    this.#dependencies = dependencies;
  }

  respond(exchange: Exchange, route: ResourceRoute, key: Key, fresh: FreshSite): MaybePromise<WireResponse> {
    const { method } = exchange;
    if (method !== "GET" && method !== "HEAD") return this.#write(exchange, route, key);
    this.#dependencies.writeQueue.noteRead();
    return this.#read(exchange, route, fresh);
  }

  #read(exchange: Exchange, route: ResourceRoute, fresh: FreshSite, attempt = 1): MaybePromise<WireResponse> {
    try {
      const response = read(exchange, route, fresh);
      if (response instanceof Promise) return this.#readLater(exchange, route, fresh, attempt, response);
      // A record that was just read from the database can be newer than the check of the key.
      return fresh instanceof ColdSite ? this.#checkAgain(exchange, route, fresh, response) : response;
    } catch (error) {
      return this.#readAgain(exchange, route, attempt, error);
    }
  }

  async #readLater(
    exchange: Exchange,
    route: ResourceRoute,
    fresh: FreshSite,
    attempt: number,
    response: Promise<WireResponse>,
  ): Promise<WireResponse> {
    try {
      return await this.#checkAgain(exchange, route, fresh, await response);
    } catch (error) {
      return this.#readAgain(exchange, route, attempt, error);
    }
  }

  /** Reads again if the error was a change of the site's epoch, at most twice. Otherwise throws `error`. */
  #readAgain(exchange: Exchange, route: ResourceRoute, attempt: number, error: unknown): MaybePromise<WireResponse> {
    if (!(error instanceof OtherHistory) || attempt === maxAttempts) throw error;
    return this.#dependencies.admission.readmit(exchange, (_, now) => this.#read(exchange, route, now, attempt + 1));
  }

  /** Authorizes again, because the key may have been revoked or the site removed while the response was made. Returns `made`. */
  #checkAgain<T>(exchange: Exchange, { isList }: ResourceRoute, { site }: FreshSite, made: T): MaybePromise<T> {
    const { admission } = this.#dependencies;
    if (isList) return admission.readmit(exchange, () => made);
    // The engine has read the head of the system site together with the record, so the keys in memory have all changes before the record.
    admission.recheck(exchange, site);
    return made;
  }

  #write(exchange: Exchange, route: ResourceRoute, key: Key): MaybePromise<WireResponse> {
    requireWrite(exchange, key);
    const body = readBody(exchange.request);
    return body instanceof Promise ? this.#writeLater(exchange, route, body) : this.#store(exchange, route, key, body);
  }

  async #writeLater(exchange: Exchange, route: ResourceRoute, body: Promise<BodyBytes>): Promise<WireResponse> {
    return this.#storeChecked(exchange, route, await body, 1);
  }

  /** Authorizes again and then writes, because the key may have been revoked or the site removed while the body arrived or the write was queued. */
  #storeChecked(
    exchange: Exchange,
    route: ResourceRoute,
    body: BodyBytes,
    attempt: number,
  ): MaybePromise<WireResponse> {
    return this.#dependencies.admission.readmit(exchange, (key) => {
      requireWrite(exchange, key);
      return this.#store(exchange, route, key, body, attempt);
    });
  }

  #store(exchange: Exchange, route: ResourceRoute, key: Key, body: BodyBytes, attempt = 1): Promise<WireResponse> {
    const { snapshots, writeQueue, now } = this.#dependencies;
    const author = { key, system: snapshots.system, at: now() };
    return write(exchange, route, author, body, writeQueue, this.#idempotencies).catch((error) => {
      if (!(error instanceof KeyChanged) || attempt === maxAttempts) throw error;
      return this.#storeChecked(exchange, route, body, attempt + 1);
    });
  }
}
