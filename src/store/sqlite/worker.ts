// The writer thread. It waits for the disk, so that the thread of the reads does not. It executes one message after the other, each to its end.

import { errorMessage } from "../../lib/errors-for-log.ts";
import { ProblemError } from "../../model/errors.ts";
import { type CredentialWrite, writeCredential } from "./credentials.ts";
import type { KnownFile } from "./files.ts";
import { decodeIntents, encodeOutcomes } from "./messages.ts";
import { pruneEntries } from "./prune.ts";
import { type WebhookWrite, writeWebhooks } from "./webhook-writes.ts";
import { Writer } from "./writer.ts";

declare const self: Worker;

/** The first message to the thread. */
export interface WorkerStart {
  readonly path: string;
  /** The files that the read side has open. */
  readonly files: readonly KnownFile[];
  readonly busyTimeout: number | undefined;
}

/** Any later message to the thread: a call. `open` only opens the database. */
export type WorkerCall =
  | { readonly name: "open" }
  | { readonly name: "commit"; readonly intents: string; readonly atomic: boolean }
  | { readonly name: "beginBatches" }
  | { readonly name: "addBatch"; readonly intents: string }
  | { readonly name: "endBatches"; readonly isCommitted: boolean }
  | { readonly name: "tryWrite" }
  | { readonly name: "prune"; readonly site: number; readonly through: number; readonly most: number }
  | { readonly name: "deleteExpiredResponses"; readonly before: number; readonly most: number }
  | { readonly name: "noteKeyUse"; readonly uses: ReadonlyMap<number, number> }
  | { readonly name: "noteBackup"; readonly at: number }
  | { readonly name: "dropPortion"; readonly site: number }
  | { readonly name: "webhooks"; readonly writes: readonly WebhookWrite[] }
  | { readonly name: "credential"; readonly write: CredentialWrite }
  | { readonly name: "close" };

/** The result of a call. A failure is plain data, because an error loses its class when it is sent to another thread. */
export type WorkerResult =
  | { readonly value: string }
  | { readonly failure: { readonly unavailable: boolean; readonly message: string } };

let start: WorkerStart | undefined;
let writer: Writer | undefined;

self.onmessage = ({ data }: MessageEvent<WorkerStart | WorkerCall>) => {
  if ("path" in data) start = data;
  else self.postMessage(resultOf(data));
};

function resultOf(call: WorkerCall): WorkerResult {
  try {
    if (call.name === "close" && !writer) return { value: "" };
    writer ??= new Writer(start as WorkerStart);
    return { value: execute(writer, call) };
  } catch (error) {
    const unavailable = error instanceof ProblemError && error.code === "unavailable";
    return { failure: { unavailable, message: errorMessage(error) } };
  }
}

/**
 * Executes a call. Returns the encoded outcomes of a batch, `more` if more rows may have to be deleted, or the results of webhooks and credentials as
 * JSON; otherwise the empty text.
 */
function execute(target: Writer, call: WorkerCall): string {
  if (call.name === "commit") {
    const intents = decodeIntents(call.intents);
    return encodeOutcomes(target.commit(intents, call.atomic), intents);
  }
  if (call.name === "addBatch") {
    const intents = decodeIntents(call.intents);
    return encodeOutcomes(target.addBatch(intents), intents);
  }
  if (call.name === "tryWrite") target.tryWrite();
  else if (call.name === "beginBatches") target.beginBatches();
  else if (call.name === "endBatches") target.endBatches(call.isCommitted);
  else if (call.name === "noteKeyUse") target.noteKeyUse(call.uses);
  else if (call.name === "noteBackup") target.noteBackup(call.at);
  else if (call.name === "deleteExpiredResponses")
    return target.deleteExpiredResponses(call.before, call.most) ? "more" : "";
  else if (call.name === "prune") {
    const { site, through, most } = call;
    return target.transact((database) => pruneEntries(database, site, through, most)) ? "more" : "";
  } else if (call.name === "credential") return target.transact((database) => writeCredential(database, call.write));
  else if (call.name === "webhooks") return target.transact((database) => writeWebhooks(database, call.writes));
  else if (call.name === "dropPortion") return target.dropPortion(call.site) ? "more" : "";
  else if (call.name === "close") target.close();
  return "";
}
