// The thread that waits for the disk, so that no read does. It answers one message after the other.

import { messageOf, Refusal } from "../../model/errors.ts";
import { openWriter, type Writer } from "./writer.ts";

declare const self: Worker;

type Calls = Pick<Writer, "commit" | "noteKeyUse" | "dropSite" | "close">;
export type Call = { [Name in keyof Calls]: { name: Name; args: Parameters<Calls[Name]> } }[keyof Calls];

/** What came of a call. A failure is told in plain data, since an error loses its class on the way. */
export type Answer = { value: unknown } | { failure: { unavailable: boolean; message: string } };

let writer: Writer | undefined;

self.onmessage = ({ data }: MessageEvent<{ path: string } | Call>) => {
  if ("path" in data) path = data.path;
  else self.postMessage(answer(data));
};

let path = "";

function answer(call: Call): Answer {
  try {
    if (call.name === "close" && !writer) return { value: undefined };
    writer ??= openWriter(path);
    return { value: (writer[call.name] as (...args: unknown[]) => unknown)(...call.args) };
  } catch (error) {
    return {
      failure: { unavailable: error instanceof Refusal && error.code === "unavailable", message: messageOf(error) },
    };
  }
}
