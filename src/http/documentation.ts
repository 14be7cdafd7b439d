// Serves the documentation: pages for people, and documents for programs. A worker renders them for the first request, and they stay in memory. Rendering
// leaves 25 MB of the worker's memory with this process, so a server whose documentation nobody reads does without.

import { statusOf } from "../formats/format.ts";
import { BoundedCache } from "../lib/bounded-cache.ts";
import { once } from "../lib/concurrency.ts";
import { redactKeys } from "../model/api-key.ts";
import { ProblemError, problemTitles } from "../model/errors.ts";
import { basePath } from "../model/resource.ts";
import { openapiPaths, requestedOpenapiKey } from "../reference/openapi/variants.ts";
import { addressPlaceholder, htmlType, pagePolicy } from "../reference/pages/layout.ts";
import type { WireResponse } from "../wire/response.ts";
import { requestedHost } from "./authorization/requested-host.ts";
import { acceptsHtml } from "./common/content-negotiation.ts";
import { StaticFile } from "./common/static-file.ts";
import { chooseCoding, wholeEncoders } from "./compression.ts";
import { isNotModified } from "./conditional-requests.ts";
import type { HttpDependencies } from "./dependencies.ts";
import type { DocumentedServer, RenderedDocumentation, RenderedFile } from "./documentation-worker.ts";
import { publicRoute, type RequestContext, type Route } from "./request-context.ts";
import { toCacheableResponse, toResponse } from "./responses.ts";

interface DocumentationOptions {
  readonly tls?: object | undefined;
  readonly trustForwardedHost: boolean;
  readonly contact?: string | undefined;
}

export type Documentation = ReturnType<typeof createDocumentation>;

const documented = /^\/(?:$|docs(?:\/|$)|openapi\.|schemas\/|llms(?:-full)?\.txt$)/;

export function createDocumentation(options: DocumentationOptions, { resources }: Pick<HttpDependencies, "resources">) {
  let paths: readonly string[] = ["/", "/docs", "/docs/guide", "/llms.txt", "/llms-full.txt", ...openapiPaths];
  const served = once(async () => {
    const { files, client } = await render({ resources, contact: options.contact });
    // Variants selected by a query have a `?` in their key.
    paths = [...files].flatMap(([path, { isVersioned }]) => (isVersioned || path.includes("?") ? [] : [path]));
    const all = new Map([...files].map(([key, file]) => [key, toServed(file)]));
    return { client, files: all, addressed: addressedFiles(all) };
  });
  return {
    /** Returns all paths or, until they're rendered, the most important ones. */
    paths: () => paths,
    /**
     * Creates a function that returns the route for a path that may be documentation; undefined for other paths.
     * @param missingDetail returns what to tell a client about a path that doesn't exist
     */
    createRouteSearch(missingDetail: (path: string) => string) {
      const [, route] = publicRoute("documentation", async (context) => {
        const { path, query } = context.target;
        const key = openapiPaths.includes(path) ? requestedOpenapiKey(path, query) : path;
        const { files, addressed, client } = await served();
        const file = files.get(key);
        if (file)
          return respondWith(context, file.hasAddress ? addressed.get(`${key} ${addressOf(context, options)}`) : file);
        throw new ProblemError("not-found", missingClientDetail(path, client) ?? missingDetail(path));
      });
      return (path: string): Route | undefined => (documented.test(path) ? route : undefined);
    },
    /** Responds with an HTML page if a browser opened a page that doesn't exist (contract section 8); undefined for other clients and errors. */
    problemPage(context: RequestContext, error: unknown): Promise<WireResponse> | undefined {
      if (!(error instanceof ProblemError) || !wantsPage(context, error)) return undefined;
      context.problem = error;
      return toProblemPage(context, error);
    },
  };
}

/** @throws Error if the worker fails. The next request tries again */
function render(server: DocumentedServer): Promise<RenderedDocumentation> {
  const { promise, resolve, reject } = Promise.withResolvers<RenderedDocumentation>();
  const worker = new Worker(new URL("./documentation-worker.ts", import.meta.url).href);
  worker.onmessage = ({ data }: MessageEvent<RenderedDocumentation>) => resolve(data);
  worker.onerror = ({ message }) => reject(new Error(`the documentation cannot be rendered: ${message}`));
  worker.addEventListener("close", () => reject(new Error("the documentation cannot be rendered: its thread ended")));
  worker.postMessage(server);
  return promise.finally(() => worker.terminate());
}

/** What to say about a missing client package; undefined for other paths. */
function missingClientDetail(path: string, client: RenderedDocumentation["client"]): string | undefined {
  if (!/^\/docs\/client(?:-[^/]+)?\.tgz$/.test(path)) return undefined;
  return client
    ? `this server has version ${client.version} of the client, at \`${client.path}\``
    : "the client hasn't been built on this server; its operator can run `npm run client`";
}

interface Served extends Omit<RenderedFile, "content"> {
  readonly file: StaticFile<keyof typeof wholeEncoders>;
}

function toServed({ content, ...others }: RenderedFile): Served {
  return { ...others, file: new StaticFile(() => content, wholeEncoders) };
}

/**
 * Returns the files that contain the URL by which the client reached this server, by key and URL, separated by a space. Clients can send any host, so at most
 * 32 are kept: 20 MB, if all are OpenAPI documents. Making one takes a few milliseconds.
 */
function addressedFiles(files: ReadonlyMap<string, Served>): BoundedCache<Served> {
  return new BoundedCache(32, 400, (name) => {
    const [key = "", address = ""] = name.split(" ");
    const served = files.get(key) as Served;
    const make = async () => {
      const bytes = await served.file.bytes(undefined);
      return Buffer.from(Buffer.from(bytes).toString().replaceAll(addressPlaceholder, address));
    };
    return { ...served, file: new StaticFile(make, wholeEncoders) };
  });
}

async function respondWith(context: RequestContext, served: Served): Promise<WireResponse> {
  const { type, policy, isVersioned, isCompressed, hasAddress, file } = served;
  const [bytes, digest] = await Promise.all([file.bytes(undefined), file.digest()]);
  const sent = context.request.headers;
  const coding = isCompressed ? undefined : chooseCoding(sent.get("accept-encoding"), bytes.length);
  const headers = {
    "Cache-Control": isVersioned ? "public, max-age=31536000, immutable" : "public, no-cache",
    Vary: hasAddress ? "X-Forwarded-Host, X-Forwarded-Proto, Accept-Encoding" : "Accept-Encoding",
    ...(policy ? { "Content-Security-Policy": policy } : {}),
    ETag: [`"${digest}-${coding ?? "plain"}"`],
  };
  if (isNotModified(sent, headers.ETag)) return toCacheableResponse(context, 304, null, headers);
  const typed = { "Content-Type": type, ...(coding ? { "Content-Encoding": coding } : {}), ...headers };
  return toCacheableResponse(context, 200, await file.bytes(coding), typed);
}

async function toProblemPage(context: RequestContext, problem: ProblemError): Promise<WireResponse> {
  const { problemPage } = await import("../reference/pages/home.ts");
  const body = problemPage({
    status: statusOf(problem.code),
    title: problemTitles[problem.code],
    detail: redactKeys(problem.message),
    instance: String(context.id),
    type: `/docs/problems/${problem.code}`,
  });
  const headers = { ...problem.headers, "Content-Security-Policy": pagePolicy, Vary: "Accept" };
  return toResponse(context, statusOf(problem.code), { type: htmlType, body }, headers);
}

function wantsPage({ request, target }: RequestContext, { code }: ProblemError): boolean {
  if (code !== "not-found" && code !== "wrong-site") return false;
  if (request.method !== "GET" && request.method !== "HEAD") return false;
  return !`${target.path}/`.startsWith(basePath) && acceptsHtml(request.headers.get("accept"));
}

/** A host and perhaps a port, without characters that a shell would interpret. */
const plainHost = /^(?:[\p{L}\p{N}._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/iu;

/**
 * Returns the URL by which the client says it reached this server. We can trust `X-Forwarded-Proto`, because only this client sees the URL, in an example.
 */
function addressOf(context: RequestContext, { tls, trustForwardedHost }: DocumentationOptions): string {
  const host = Buffer.from(requestedHost(context, trustForwardedHost), "latin1").toString();
  const isSecure = tls !== undefined || context.request.headers.get("x-forwarded-proto") === "https";
  return `${isSecure ? "https" : "http"}://${plainHost.test(host) ? host : "server.example"}`;
}
