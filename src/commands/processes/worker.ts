// A process that serves a part for its parent: a worker the public port, or the admin process the admin listener.

import type { AdminAddress, Config } from "../../config.ts";
import type { MetricsSample } from "../../lib/metrics.ts";
import { Refusal } from "../../model/errors.ts";
import { allResources } from "../../resources/all.ts";
import { createLog, openStore, startAdmin, toPublicUrl } from "../../start.ts";
import type { Certificate } from "../../wire/listen.ts";
import { listenOnPort, withListenErrors } from "./certificate.ts";
import { type MessageOfChild, type MessageOfParent, PendingRequests } from "./child.ts";

/** Seconds after which a process whose successor listens ends its idle connections. */
const idleSecondsOfRetired = 15;
/** Milliseconds in which a process without a parent must have stopped; it stops waiting for its clients after 10 seconds by itself. */
const orphanTimeout = 15_000;
/** Milliseconds in which the parent must send the metrics of all workers: it waits for a second for each, at the same time. */
const samplesTimeout = 2000;

/** Serves the public port until `end`, a message of the parent, or the end of the parent. */
export async function serveAsWorker(config: Config, end: Promise<void>): Promise<void> {
  const orphaned = endOfParent();
  const log = createLog(config);
  const server = await listenOnPort(config, await certificateOfParent());
  const sendSample = async (id: number, isChecked = false) => {
    try {
      await sendToParent({ kind: "sample", id, sample: await server.sample(isChecked) });
    } catch (error) {
      // The worker goes on. Its parent uses the last metrics that it sent.
      log.error({ err: error }, "a worker cannot send its metrics");
    }
  };
  const retired = onMessages((message) => {
    if (message.kind === "sample") void sendSample(message.id, message.isChecked);
  });
  const { url, port, sites, engine } = server;
  await sendToParent({ kind: "listening", url, port, sites, isNew: engine.isNew });
  await untilEnd(server.finish, retired, Promise.race([end.then(server.drain), orphaned]));
  await sendSample(0);
  await server.stop();
  process.disconnect?.();
}

/** Serves the admin listener at `admin` until `end`, a message of the parent, or the end of the parent. */
export async function serveAsAdmin(config: Config, admin: AdminAddress, end: Promise<void>): Promise<void> {
  const orphaned = endOfParent();
  const pending = new PendingRequests<readonly MetricsSample[]>();
  const retired = onMessages((message) => {
    if (message.kind === "samples") pending.respond(message.id, message.samples);
  });
  const samples = async () => {
    const response = await pending.request((id) => void sendToParent({ kind: "samples", id }), samplesTimeout);
    if (!response) throw new Refusal("unavailable", "the parent process did not send the metrics in time");
    return response;
  };
  const certificate = await certificateOfParent();
  const { engine, snapshots } = await openStore(config, allResources, createLog(config));
  const parts = { engine, snapshots, samples, publicUrl: toPublicUrl(config) };
  const listener = await withListenErrors(admin, () => startAdmin(config, admin, certificate, parts));
  await sendToParent({ kind: "listening", url: listener.url, port: listener.port });
  // It has the metrics of the workers, which serve for so long.
  const drained = end.then(() => Bun.sleep(config.drain * 1000));
  await untilEnd((idleSeconds) => listener.stop(10, idleSeconds), retired, Promise.race([drained, orphaned]));
  await engine.close();
  process.disconnect?.();
}

/** What the parent writes on stdin: `{"certificate":{...}}`. */
async function certificateOfParent(): Promise<Certificate | undefined> {
  return (await Bun.stdin.json()).certificate;
}

/** Passes on the messages of the parent. The promise resolves when this process is to leave its port to its successor. */
function onMessages(onMessage: (message: MessageOfParent) => void): Promise<void> {
  return new Promise((resolve) => {
    process.on("message", (message: MessageOfParent) => {
      if (message.kind === "retire") resolve();
      else onMessage(message);
    });
  });
}

/** Waits until this process has to end, and stops serving. `end` also shortens the time that idle connections get from a successor. */
async function untilEnd(
  stop: (idleSeconds: number) => Promise<void>,
  retired: Promise<void>,
  end: Promise<void>,
): Promise<void> {
  await Promise.race([end.then(() => stop(0)), retired.then(() => stop(idleSecondsOfRetired))]);
}

/**
 * Resolves when the parent has ended, also if it did before the call. Nothing else ends a process then, so one that does not stop by itself
 * is ended here.
 */
function endOfParent(): Promise<void> {
  return new Promise((resolve) => {
    const onEnd = () => {
      clearInterval(look);
      process.off("disconnect", onEnd);
      // Not unref(): without it, nothing might be left that the event loop waits for, and the process would be busy for ever.
      setTimeout(() => process.exit(1), orphanTimeout);
      resolve();
    };
    const look = setInterval(() => process.connected || onEnd(), 1000);
    process.once("disconnect", onEnd);
  });
}

/** Resolves when the parent has the message, or has ended. */
function sendToParent(message: MessageOfChild): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected) return resolve();
    process.send?.(message, undefined, undefined, () => resolve());
  });
}
