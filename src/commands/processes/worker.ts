// The children of a server with several processes: workers serve the public port, and the admin process serves the admin listener. Both stop if their
// parent exits.

import type { AdminAddress, Config } from "../../config.ts";
import type { ActivityAnswer, ActivityQuestion } from "../../http/common/activity.ts";
import type { MetricsSample } from "../../lib/metrics.ts";
import { ProblemError } from "../../model/errors.ts";
import { allResources } from "../../resources/all.ts";
import { createLog, openStore, startAdmin, toPublicUrl } from "../../start.ts";
import type { Certificate } from "../../wire/listen.ts";
import { listenOnPort, withListenErrors } from "./ports.ts";
import { type MessageOfChild, type MessageOfParent, PendingRequests } from "./process-messages.ts";

/** How long idle connections stay open after `retire`. */
const idleSecondsOfRetired = 15;
/** How long this process has to exit after its parent. Stopping waits up to 10 seconds for clients. */
const orphanTimeoutMs = 15_000;
/** How long the parent has to send all workers' metrics. It asks them in parallel, and waits for one second. */
const samplesTimeoutMs = 2000;

/** Serves the public port until `end` resolves, the parent sends `retire`, or the parent exits. */
export async function serveAsWorker(config: Config, end: Promise<void>): Promise<void> {
  const orphaned = parentExit();
  const log = createLog(config);
  const server = await listenOnPort(config, await receiveCertificate());
  const sendSample = async (id: number, checksReadiness = false) => {
    try {
      await sendToParent({ kind: "sample", id, sample: await server.sample(checksReadiness) });
    } catch (error) {
      // The parent will use the metrics we sent last.
      log.error({ err: error }, "couldn't send this worker's metrics");
    }
  };
  const retired = onMessages((message) => {
    if (message.kind === "sample") void sendSample(message.id, message.isChecked);
    else if (message.kind === "ask")
      void sendToParent({ kind: "answer", id: message.id, answer: server.answer(message.question) });
  });
  const { url, port, sites, engine } = server;
  await sendToParent({ kind: "listening", url, port, sites, isNew: engine.isNew });
  await untilEnd(server.finish, retired, Promise.race([end.then(server.drain), orphaned]));
  await sendSample(0);
  await server.stop();
  process.disconnect?.();
}

/** Serves the admin listener at `admin` until `end` resolves, the parent sends `retire`, or the parent exits. */
export async function serveAsAdmin(config: Config, admin: AdminAddress, end: Promise<void>): Promise<void> {
  const orphaned = parentExit();
  const pending = new PendingRequests<readonly MetricsSample[]>();
  const questions = new PendingRequests<readonly ActivityAnswer[]>();
  const retired = onMessages((message) => {
    if (message.kind === "samples") pending.respond(message.id, message.samples);
    else if (message.kind === "answers") questions.respond(message.id, message.answers);
  });
  const samples = async () => {
    const response = await pending.request((id) => void sendToParent({ kind: "samples", id }), samplesTimeoutMs);
    if (!response) throw new ProblemError("unavailable", "the main process didn't send the metrics in time");
    return response;
  };
  const askActivity = async (question: ActivityQuestion) =>
    (await questions.request((id) => void sendToParent({ kind: "ask", id, question }), samplesTimeoutMs)) ?? [];
  const certificate = await receiveCertificate();
  const store = await openStore(config, allResources, createLog(config));
  const samplesOfAll = async () => [...(await samples()), store.verification.families()];
  const { engine, siteViews } = store;
  const parts = { engine, siteViews, samples: samplesOfAll, askActivity, publicUrl: toPublicUrl(config) };
  const listener = await withListenErrors(admin, () => startAdmin(config, admin, certificate, parts));
  await sendToParent({ kind: "listening", url: listener.url, port: listener.port });
  // Keep serving while the workers drain, because their metrics are served here.
  const drained = end.then(() => Bun.sleep(config.drain * 1000));
  await untilEnd((idleSeconds) => listener.stop(10, idleSeconds), retired, Promise.race([drained, orphaned]));
  await store.close();
  process.disconnect?.();
}

/** The parent writes `{"certificate":{...}}` to stdin. */
async function receiveCertificate(): Promise<Certificate | undefined> {
  return (await Bun.stdin.json()).certificate;
}

/** Resolves at `retire`. Passes all other messages to `onMessage`. */
function onMessages(onMessage: (message: MessageOfParent) => void): Promise<void> {
  return new Promise((resolve) => {
    process.on("message", (message: MessageOfParent) => {
      if (message.kind === "retire") resolve();
      else onMessage(message);
    });
  });
}

/**
 * Stops serving at `end` or `retired`. Idle connections stay open for a while after `retired`, but not after `end`.
 * @param stop stops serving, and closes idle connections after `idleSeconds`
 */
async function untilEnd(
  stop: (idleSeconds: number) => Promise<void>,
  retired: Promise<void>,
  end: Promise<void>,
): Promise<void> {
  await Promise.race([end.then(() => stop(0)), retired.then(() => stop(idleSecondsOfRetired))]);
}

/**
 * Resolves once the parent has exited, even if that was before the call. Nobody is left to kill this process, so it then exits by itself after 15
 * seconds, whether it has stopped or not.
 */
function parentExit(): Promise<void> {
  return new Promise((resolve) => {
    const onEnd = () => {
      clearInterval(parentCheck);
      process.off("disconnect", onEnd);
      // Don't unref() this timer. With nothing else to wait for, the event loop would spin forever.
      setTimeout(() => process.exit(1), orphanTimeoutMs);
      resolve();
    };
    const parentCheck = setInterval(() => process.connected || onEnd(), 1000);
    process.once("disconnect", onEnd);
  });
}

/** Resolves once the message is sent, or immediately if the parent has exited. */
function sendToParent(message: MessageOfChild): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected) return resolve();
    process.send?.(message, undefined, undefined, () => resolve());
  });
}
