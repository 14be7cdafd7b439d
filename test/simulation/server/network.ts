// The network between a simulation's clients and server processes. Requests and responses take time, and some get lost.

import { HeaderFields } from "../../../src/wire/header-fields.ts";
import type { WireRequest } from "../../../src/wire/request.ts";
import { BodyBytes, emptyBody } from "../../../src/wire/request-body.ts";
import { copyPart, joinParts, partLength, type ResponseBody, type WireResponse } from "../../../src/wire/response.ts";
import type { Random } from "../random.ts";
import type { SimulatedTime } from "../time.ts";
import type { ServerProcess } from "./process.ts";
import type { Truth } from "./truth.ts";

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Received {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** The moments when the request was sent and the response made. */
  readonly sentAt: number;
  readonly madeAt: number;
  readonly process: ServerProcess;
  /** When the request was sent and the response made, in milliseconds since 1970. */
  readonly times: { readonly sent: number; readonly made: number };
}

interface NetworkOptions {
  readonly time: SimulatedTime;
  readonly random: Random;
  readonly truth: Truth;
  readonly processes: () => readonly ServerProcess[];
  readonly trace: (line: string) => void;
}

/** How long a client waits. */
const timeoutMs = 70_000;
/** How likely a body is to arrive slowly, and how long it then takes at most. */
const slowBody = { probability: 0.2, maxMs: 3000 };

export class ServerNetwork {
  /** Probability that a response is lost. */
  lossProbability = 0;
  readonly #options: NetworkOptions;
  readonly #inFlight = new Map<() => void, ServerProcess>();

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** Sends a request to any process that accepts connections. Returns undefined if no response arrives. */
  async send(sent: SentRequest): Promise<Received | undefined> {
    const { time, random, truth, processes, trace } = this.#options;
    const [sentAt, sentTime] = [truth.index, time.now];
    await time.sleep(random.between(0, random.chance(0.1) ? 200 : 5));
    const process = random.pick(processes().filter(({ life, isStopping }) => life.isAlive && !isStopping));
    if (!process) return undefined;
    const { promise: lost, resolve: lose } = Promise.withResolvers<undefined>();
    const end = () => lose(undefined);
    this.#inFlight.set(end, process);
    const cancel = time.after(timeoutMs, end);
    const response = await Promise.race([this.#respond(process, sent), lost]);
    cancel();
    this.#inFlight.delete(end);
    const line = `${process.name} ${sent.method} ${sent.path} ${JSON.stringify(sent.headers ?? {})}`;
    trace(`${line} -> ${response ? `${response.status} ${response.text}` : "no response"}`);
    if (!response) return undefined;
    const made = { madeAt: truth.index, times: { sent: sentTime, made: time.now } };
    const isLost = random.chance(this.lossProbability);
    await time.sleep(random.between(0, random.chance(0.1) ? 200 : 5));
    return isLost ? undefined : { ...response, ...made, sentAt, process };
  }

  /** Closes a killed process's connections. */
  onKill(process: ServerProcess): void {
    for (const [end, of] of this.#inFlight) if (of === process) end();
  }

  async #respond(process: ServerProcess, sent: SentRequest) {
    const { random, time } = this.#options;
    const bodyMs = sent.body && random.chance(slowBody.probability) ? random.between(1, slowBody.maxMs) : 0;
    const request = toRequest(sent, bodyMs, (milliseconds) => time.sleep(milliseconds));
    await process.life.deliver(undefined);
    const response: WireResponse = await process.life.deliver(await process.handler.respond(request));
    return { status: response.status, headers: headersOf(response), text: textOf(response.body) };
  }
}

/** @param bodyMs milliseconds until the body has arrived; 0 if it comes with the headers */
function toRequest(
  { method, path, headers = {}, body }: SentRequest,
  bodyMs: number,
  sleep: (milliseconds: number) => Promise<void>,
): WireRequest {
  const fields = Object.entries({ host: "shop.example", ...headers });
  const bytes = Buffer.from(body ?? "");
  const received = body === undefined ? emptyBody : new BodyBytes(bytes, 0, bytes.length);
  return {
    method,
    target: path,
    headers: new HeaderFields(new Map(fields.map(([name, value]) => [name.toLowerCase(), value]))),
    address: "192.0.2.1",
    isAbandoned: false,
    onClientEnd: () => {},
    receivedBody: bodyMs > 0 ? undefined : received,
    readBody: async () => {
      await sleep(bodyMs);
      return received;
    },
    discardBody: () => {},
  };
}

function headersOf({ headers }: WireResponse): Map<string, string> {
  const lines = joinParts(headers).split("\r\n").slice(0, -1);
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
}

function textOf(body: ResponseBody): string {
  if (body === null) return "";
  if (typeof body === "string") return body;
  if ("memory" in body) return body.memory.toString("utf8", body.start);
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  const parts = body.map((part) => {
    const bytes = Buffer.alloc(partLength(part));
    copyPart(part, bytes.length, bytes, 0);
    return bytes;
  });
  return Buffer.concat(parts).toString();
}
