// A server in the test's process, on an engine whose commits the test wraps.

import pino from "pino";
import { serveHttp } from "../../../src/http/server.ts";
import type { Engine, EngineCommits } from "../../../src/model/engine.ts";
import { allResources } from "../../../src/resources/all.ts";
import { SiteChangeNotifier } from "../../../src/store/changes/site-change-notifier.ts";
import { LastBackup } from "../../../src/store/last-backup.ts";
import { SiteViews } from "../../../src/store/reads/site-views.ts";
import { WriteQueue } from "../../../src/store/writes/write-queue.ts";
import { SystemSiteIndex } from "../../../src/system/system-site-index.ts";
import type { Listener } from "../../../src/wire/listen.ts";

/** Serves `engine` on a port of 127.0.0.1, without an admin listener. @param commits the methods the server commits writes with */
export function serveWithCommits(engine: Engine, commits: Partial<EngineCommits>): Listener {
  const wrapped: Engine = { ...engine, ...commits };
  const siteViews = new SiteViews(engine, allResources, 1 << 20);
  const systemSiteIndex = new SystemSiteIndex(allResources);
  siteViews.subscribeToSystemSite(systemSiteIndex);
  return serveHttp(
    {
      host: "127.0.0.1",
      port: 0,
      tls: undefined,
      trustProxy: false,
      trustForwardedHost: false,
      servesMcp: true,
      ignoredParameters: [],
      idleTimeoutSeconds: 60,
      slowMs: Number.POSITIVE_INFINITY,
      connections: 100,
      memory: 64 * 1024 * 1024,
      reusePort: false,
      keyLimit: undefined,
      failureLimit: { tokensPerSecond: 2, maxTokens: 100 },
    },
    {
      engine,
      engineCalls: new Map(),
      lastBackup: new LastBackup(engine),
      build: () => ({ version: "", commit: "" }),
      siteViews,
      verification: { families: () => [] },
      systemSiteIndex,
      changeNotifier: new SiteChangeNotifier(wrapped),
      writeQueue: new WriteQueue(wrapped, siteViews),
      resources: allResources,
      log: pino({ level: "silent" }),
      accessLog: undefined,
      webhookAllow: [],
      now: Date.now,
    },
  );
}
