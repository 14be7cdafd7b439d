// The public listener, put together from its parts.

import type { Logger } from "pino";
import type { Build } from "../build.ts";
import { certificateExpiry } from "../lib/certificate-expiry.ts";
import type { LineWriter } from "../lib/logging.ts";
import type { MetricsSample } from "../lib/metrics.ts";
import type { Engine } from "../model/engine.ts";
import type { Resource } from "../model/resource.ts";
import type { SiteWatch } from "../store/changes/site-change-notifier.ts";
import type { LastBackup } from "../store/database/last-backup.ts";
import type { MeasuredCalls } from "../store/measured-engine.ts";
import type { Snapshots } from "../store/reads/site-views.ts";
import type { WriteQueue } from "../store/writes/write-queue.ts";
import { type Listener, type ListenOptions, listen } from "../wire/listen.ts";
import { Admission, type AdmissionOptions } from "./authorizer.ts";
import { createDocumentation } from "./documentation.ts";
import { HttpHandler } from "./handler.ts";
import { Readiness } from "./health.ts";
import { Polls } from "./long-poll.ts";
import { createMetrics } from "./metrics.ts";
import { maxBodyBytes } from "./record-body.ts";
import { RequestLog, type RequestLogOptions } from "./request-log.ts";
import { serverFamilies } from "./server-metrics.ts";

export interface HttpServer extends Listener {
  /** The metrics of this process. @param isChecked whether to find out if it is ready, which commits a write without effect */
  sample(isChecked?: boolean): Promise<MetricsSample>;
  /** Is not ready from now on, and serves for so many seconds more: whoever sends requests should send them elsewhere before the server stops. */
  drain(seconds: number): Promise<void>;
}

interface HttpOptions
  extends Omit<ListenOptions, "maxBodyBytes" | "receiveBuffer" | "unsent">,
    AdmissionOptions,
    RequestLogOptions {}

/** Milliseconds after the start. */
const loadDelay = 250;

/** As many as the wire lets wait unread. Requests are small, and there are many clients. */
const receiveBuffer = 64 * 1024;

/** Less costs CPU time: a long list would be sent in many small steps. */
const unsent = 1024 * 1024;

/** Serves the interface. Throws when the port is taken or the certificate cannot be read. */
export function serveHttp(options: HttpOptions, dependencies: HttpDependencies): HttpServer {
  const { engine, log, now } = dependencies;
  const admission = new Admission(options, dependencies);
  const polls = new Polls(options.connections, { ...dependencies, admission });
  let expiry = options.tls && certificateExpiry(options.tls.cert);
  const metrics = createMetrics(async (isChecked) => {
    const isReady = isChecked ? await readiness.check() : readiness.latest;
    const usage = { listener: listener.usage(), polls: polls.size, isReady, certificateExpiry: expiry };
    return serverFamilies(dependencies, usage);
  });
  const documentation = createDocumentation(options, dependencies);
  const requestLog = new RequestLog(options, dependencies);
  const readiness = new Readiness(engine, now);
  const own = { admission, metrics, documentation, requestLog, polls, readiness };
  const handler = new HttpHandler({ ...dependencies, ...own });
  const listener = listen({ ...options, maxBodyBytes, receiveBuffer, unsent }, handler);

  const loading = loadSoon([documentation.load, metrics.load, async () => dependencies.build()], log);

  return {
    ...listener,
    sample: metrics.sample,
    async replaceCertificate(certificate) {
      await listener.replaceCertificate(certificate);
      expiry = certificateExpiry(certificate.cert);
    },
    drain: (seconds) => readiness.drain(seconds),
    async stop(seconds, idleSeconds) {
      clearTimeout(loading);
      // First, so that the responses of the polls end their connections.
      const stopped = listener.stop(seconds, idleSeconds);
      polls.stop();
      await stopped;
      await admission.stop();
    },
  };
}

/**
 * To start quickly, some code is loaded after the start. It does not wait for the first request: when an import fails because all file descriptors are
 * in use, the runtime never tries again. Returns the timer.
 */
function loadSoon(loads: readonly (() => Promise<unknown>)[], log: Logger): NodeJS.Timeout {
  const loadAll = async () => {
    const results = await Promise.allSettled(loads.map((load) => load()));
    const errors = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
    for (const error of errors) log.error({ err: error }, "the documentation or the metrics could not be loaded");
    if (errors.length === 0) log.debug("the documentation and the metrics are loaded");
  };
  return setTimeout(() => void loadAll(), loadDelay).unref();
}

export interface HttpDependencies {
  readonly engine: Engine;
  readonly engineCalls: MeasuredCalls;
  readonly lastBackup: LastBackup;
  readonly snapshots: Snapshots;
  readonly writeQueue: WriteQueue;
  readonly siteWatch: SiteWatch;
  readonly resources: readonly Resource[];
  readonly build: () => Build;
  readonly log: Logger;
  /** Where every request is logged, if it is. */
  readonly accessLog: LineWriter | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}
