// The child's side of a server of several processes: a worker serves the public port, the admin process serves the admin listener. Both stop when
// their parent has exited.

import type { AdminAddress, Config } from "../../config.ts";
import type { ActivityAnswer, ActivityQuestion } from "../../http/common/activity.ts";
import type { MetricsSample } from "../../lib/metrics.ts";
import { ProblemError } from "../../model/errors.ts";
import { allResources } from "../../resources/all.ts";
import { createLog, openStore, startAdmin, toPublicUrl } from "../../start.ts";
import type { Certificate } from "../../wire/listen.ts";
import { listenOnPort, withListenErrors } from "./ports.ts";
import { type MessageOfChild, type MessageOfParent, PendingRequests } from "./process-messages.ts";

/** After `retire`, idle connections are closed after this number of seconds. */
const idleSecondsOfRetired = 15;
/** Maximum milliseconds from the exit of the parent until this process exits. Stopping waits at most 10 seconds for clients. */
const orphanTimeoutMs = 15_000;
/** Maximum milliseconds until the parent sends the metrics of all workers. The parent asks all workers at the same time, and waits one second. */
const samplesTimeoutMs = 2000;

/** Serves the public port until `end` resolves, the parent sends `retire`, or the parent exits. */
export async function serveAsWorker(config: Config, end: Promise<void>): Promise<void> {
  const orphaned = endOfParent();
  const log = createLog(config);
  const server = await listenOnPort(config, await certificateOfParent());
  const sendSample = async (id: number, checksReadiness = false) => {
    try {
      await sendToParent({ kind: "sample", id, sample: await server.sample(checksReadiness) });
    } catch (error) {
      // Continue without metrics: the parent uses the metrics that this worker sent last.
      log.error({ err: error }, "a worker cannot send its metrics");
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
  const orphaned = endOfParent();
  const pending = new PendingRequests<readonly MetricsSample[]>();
  const questions = new PendingRequests<readonly ActivityAnswer[]>();
  const retired = onMessages((message) => {
    if (message.kind === "samples") pending.respond(message.id, message.samples);
    else if (message.kind === "answers") questions.respond(message.id, message.answers);
  });
  const samples = async () => {
    const response = await pending.request((id) => void sendToParent({ kind: "samples", id }), samplesTimeoutMs);
    if (!response) throw new ProblemError("unavailable", "the main process did not send the metrics in time");
    return response;
  };
  const askActivity = async (question: ActivityQuestion) =>
    (await questions.request((id) => void sendToParent({ kind: "ask", id, question }), samplesTimeoutMs)) ?? [];
  const certificate = await certificateOfParent();
  const store = await openStore(config, allResources, createLog(config));
  const samplesOfAll = async () => [...(await samples()), store.verification.families()];
  const { engine, siteViews } = store;
  const parts = { engine, siteViews, samples: samplesOfAll, askActivity, publicUrl: toPublicUrl(config) };
  const listener = await withListenErrors(admin, () => startAdmin(config, admin, certificate, parts));
  await sendToParent({ kind: "listening", url: listener.url, port: listener.port });
  // Keep serving while the workers drain, because the metrics of the workers are served here.
  const drained = end.then(() => Bun.sleep(config.drain * 1000));
  await untilEnd((idleSeconds) => listener.stop(10, idleSeconds), retired, Promise.race([drained, orphaned]));
  await store.close();
  process.disconnect?.();
}

/** Reads the certificate that the parent writes to stdin: `{"certificate":{...}}`. */
async function certificateOfParent(): Promise<Certificate | undefined> {
  return (await Bun.stdin.json()).certificate;
}

/** Passes the messages of the parent to `onMessage`, except `retire`. Returns a promise that resolves at `retire`. */
function onMessages(onMessage: (message: MessageOfParent) => void): Promise<void> {
  return new Promise((resolve) => {
    process.on("message", (message: MessageOfParent) => {
      if (message.kind === "retire") resolve();
      else onMessage(message);
    });
  });
}

/**
 * Waits for `end` or `retired`, and stops serving. If `end` comes after `retired`, idle connections are closed at once.
 * @param stop stops serving; idle connections are closed after `idleSeconds`
 */
async function untilEnd(
  stop: (idleSeconds: number) => Promise<void>,
  retired: Promise<void>,
  end: Promise<void>,
): Promise<void> {
  await Promise.race([end.then(() => stop(0)), retired.then(() => stop(idleSecondsOfRetired))]);
}

/**
 * Resolves when the parent has exited, also if it exited before the call. Nobody else kills this process then. So it exits after 15 seconds,
 * even if it has not stopped.
 */
function endOfParent(): Promise<void> {
  return new Promise((resolve) => {
    const onEnd = () => {
      clearInterval(parentCheck);
      process.off("disconnect", onEnd);
      // Do not unref() this timer. Otherwise the event loop might have nothing to wait for, and the process would be busy for ever.
      setTimeout(() => process.exit(1), orphanTimeoutMs);
      resolve();
    };
    const parentCheck = setInterval(() => process.connected || onEnd(), 1000);
    process.once("disconnect", onEnd);
  });
}

/** Sends a message to the parent. Resolves when it is sent, or at once if the parent has exited. */
function sendToParent(message: MessageOfChild): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected) return resolve();
    process.send?.(message, undefined, undefined, () => resolve());
  });
}
