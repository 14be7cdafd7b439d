// Creates the public listener from its parts.

import { certificateExpiry } from "../lib/certificate-expiry.ts";
import type { MetricsSample } from "../lib/metrics.ts";
import { type Listener, type ListenOptions, listen } from "../wire/listen.ts";
import { type AuthorizerOptions, RequestAuthorizer } from "./authorization/authorizer.ts";
import type { ActivityAnswer, ActivityQuestion } from "./common/activity.ts";
import { loadSoon } from "./common/load-soon.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { createDocumentation } from "./documentation.ts";
import { LongPolls } from "./feed/long-poll.ts";
import { HttpHandler } from "./handler.ts";
import { Readiness } from "./health.ts";
import { KeyTraffic } from "./key-traffic.ts";
import type { McpOptions } from "./mcp/mcp-route.ts";
import { type QueryOptions, QueryReader } from "./query.ts";
import { RecentRequests } from "./recent-requests.ts";
import { RequestLog, type RequestLogOptions } from "./request-log.ts";
import { createMetrics } from "./request-metrics.ts";
import { serverFamilies } from "./server-metrics.ts";

export interface HttpServer extends Listener {
  /** Returns this process's metrics. @param checksReadiness whether to check readiness, which commits a write without effect */
  sample(checksReadiness?: boolean): Promise<MetricsSample>;
  /** Answers a question about a site's activity, as far as this process knows. */
  answer(question: ActivityQuestion): ActivityAnswer;
  /** Makes `/readyz` fail but keeps serving, and resolves after `seconds`. Call it before `stop`. */
  drain(seconds: number): Promise<void>;
}

interface HttpOptions
  extends Omit<ListenOptions, "maxBodyBytes" | "receiveBufferBytes" | "unsentLimits">,
    AuthorizerOptions,
    McpOptions,
    QueryOptions,
    RequestLogOptions {
  /** How to reach the operator; undefined if it isn't set. */
  readonly contact?: string | undefined;
}

/** Contract section 4. Batches may be larger (`readBatchBody`). */
const maxPublicBodyBytes = 1024 * 1024;

/** How much the kernel buffers before we read it, which matches what the wire leaves unread (streams.ts). Requests are small, and there are many clients. */
const receiveBufferBytes = 64 * 1024;

/**
 * How many unsent bytes the kernel accepts. With the small limit, sending a long list takes many steps and more CPU time; with the large one, a thousand
 * clients that don't read take 1.2 GB. Each client that doesn't read takes 57 kB at 16 KiB, and 103 kB at 64 KiB.
 */
const unsentLimits = { small: 64 * 1024, smaller: 16 * 1024, many: 512, large: 1024 * 1024, places: 128 };

/** Starts the public listener. @throws Error if the port is taken or the certificate is invalid */
export function serveHttp(options: HttpOptions, dependencies: HttpDependencies): HttpServer {
  let expiry = options.tls && certificateExpiry(options.tls.cert);
  const usage = () => ({ listener: listener.usage(), certificateExpiry: expiry });
  const parts = createHttpParts(options, dependencies, usage);
  const { handler, authorizer, metrics, longPolls, readiness } = parts;
  const listener = listen({ ...options, maxBodyBytes: maxPublicBodyBytes, receiveBufferBytes, unsentLimits }, handler);

  const loading = loadSoon([metrics.load, async () => dependencies.build()], dependencies.log);

  return {
    ...listener,
    sample: metrics.collectSample,
    answer: (question) => answerQuestion(question, parts),
    async replaceCertificate(certificate) {
      await listener.replaceCertificate(certificate);
      expiry = certificateExpiry(certificate.cert);
    },
    drain: (seconds) => readiness.drain(seconds),
    async stop(seconds, idleSeconds) {
      clearTimeout(loading);
      // Stop the listener before the polls, so that their responses end their connections.
      const stopped = listener.stop(seconds, idleSeconds);
      longPolls.stop();
      await stopped;
      await authorizer.stop();
    },
  };
}

type ListenerState = Omit<Parameters<typeof serverFamilies>[1], "longPolls" | "isReady">;

/** Creates the handler and its parts, without a socket. @param stateOf returns the listener's state */
export function createHttpParts(
  options: AuthorizerOptions &
    McpOptions &
    QueryOptions &
    RequestLogOptions &
    Pick<ListenOptions, "tls" | "connections"> &
    Pick<HttpOptions, "contact">,
  dependencies: HttpDependencies,
  stateOf: () => ListenerState,
) {
  const authorizer = new RequestAuthorizer(options, dependencies);
  const longPolls = new LongPolls(options.connections, { ...dependencies, authorizer });
  const readiness = new Readiness(dependencies.engine, dependencies.now);
  const metrics = createMetrics(async (checksReadiness) => {
    const isReady = checksReadiness ? await readiness.isReadyForMetrics() : readiness.latest;
    return serverFamilies(dependencies, { ...stateOf(), longPolls: longPolls.size, isReady });
  });
  const documentation = createDocumentation(options, dependencies);
  const requestLog = new RequestLog(options, dependencies);
  const keyTraffic = new KeyTraffic(dependencies.now);
  const recentRequests = new RecentRequests(dependencies.resources, dependencies.now);
  const queries = new QueryReader(options);
  const own = {
    authorizer,
    metrics,
    documentation,
    requestLog,
    longPolls,
    readiness,
    queries,
    keyTraffic,
    recentRequests,
  };
  return { ...own, handler: new HttpHandler({ ...dependencies, ...own, mcp: options, contact: options.contact }) };
}

/** The question may come from another version of the program. */
function answerQuestion(
  question: ActivityQuestion,
  { authorizer, keyTraffic, recentRequests }: ReturnType<typeof createHttpParts>,
): ActivityAnswer {
  if (question.kind === "key-traffic")
    return { ...keyTraffic.answer(question.keys), uses: authorizer.keyUses.latestUses(question.keys) };
  return question.kind === "requests" ? recentRequests.answer(question.site, question) : undefined;
}
