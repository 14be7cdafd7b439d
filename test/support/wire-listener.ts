// A listener of the wire alone, with an answer for every request that tells what was read.

import { Refusal } from "../../src/model/errors.ts";
import { type Listener, type ListenOptions, listen } from "../../src/wire/listen.ts";
import { type Reply, toLines } from "../../src/wire/reply.ts";
import type { Handler, WireRequest } from "../../src/wire/request.ts";

const defaults: ListenOptions = {
  host: "127.0.0.1",
  port: 0,
  reusePort: false,
  patience: 60,
  longestBody: 1024 * 1024,
  connections: 10_000,
  memory: 256 * 1024 * 1024,
};

/** Listens on a free port. Its problems are the refusal's code, or `fault`, as text. */
export function startListener(
  answer: Handler["answer"],
  options: Partial<ListenOptions> = {},
  others: Partial<Handler> = {},
): Listener {
  const misread = (error: unknown) => text(error instanceof Refusal ? error.code : "fault", 400);
  const handler = { answer, misread, note: () => {}, ...others };
  return listen({ ...defaults, ...options }, handler);
}

export function text(body: string, status = 200, headers: Record<string, string> = {}): Reply {
  return { status, headers: toLines(headers), body };
}

/** Answers what was asked for, with the body: `POST /x hello`. A refused body is answered by its code. */
export async function echo(request: WireRequest): Promise<Reply> {
  try {
    const body = await request.body();
    const read = `${request.method} ${request.target} ${Buffer.from(body).toString("latin1")}`;
    return { status: 200, headers: "", body: Buffer.from(read, "latin1") };
  } catch (error) {
    return text((error as Refusal).code, 400);
  }
}

/** The same at once, of requests without a body. */
export function echoNow({ method, target }: WireRequest): Reply {
  return text(`${method} ${target}`);
}
