// A simulation's network and receivers.

import type { Delivery, DeliveryResponse } from "../../src/webhooks/send.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Random } from "./random.ts";
import type { SimulatedTime } from "./time.ts";

/** A process's request, as the checker sees it. */
export interface Sent {
  readonly process: SimulatedProcess;
  readonly url: string;
  readonly delivery: Delivery;
  readonly startedAt: number;
  /** Undefined while the request is in flight. */
  endedAt: number | undefined;
  /** The response's status, if there was one. */
  status?: number | null;
}

interface NetworkOptions {
  readonly time: SimulatedTime;
  readonly random: Random;
  readonly onSend: (sent: Sent) => void;
  /** A request has arrived. Returns the receiver's status. */
  readonly onArrival: (sent: Sent, wanted: number) => number;
}

const timeoutMs = 15_000;
const failed = (fault: string): DeliveryResponse => ({ status: null, retryAfter: undefined, fault });

/** How a receiver behaves: milliseconds until the request arrives, and until the response does; undefined means never. */
interface ReceiverBehaviour {
  readonly arrival?: number;
  readonly response?: number;
  readonly status: number;
  readonly retryAfter?: string;
}

export class Network {
  /** Probability of anything but a quick 200. */
  failureProbability = 0;
  readonly #options: NetworkOptions;
  readonly #inFlight = new Set<Sent>();
  /** How long receivers are down, by URL. */
  readonly #down = new Map<string, number>();

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  send(process: SimulatedProcess, delivery: Delivery, signal: AbortSignal): Promise<DeliveryResponse> {
    const { time, onSend, onArrival } = this.#options;
    const sent: Sent = { process, url: delivery.url, delivery, startedAt: time.now, endedAt: undefined };
    this.#inFlight.add(sent);
    onSend(sent);
    const behaviour = this.#chooseBehaviour(delivery.url);
    const { promise, resolve } = Promise.withResolvers<DeliveryResponse>();
    const end = (received: DeliveryResponse) => {
      sent.endedAt ??= time.now;
      this.#inFlight.delete(sent);
      sent.status ??= received.status;
      resolve(received);
    };
    if (signal.aborted) end(failed("interrupted"));
    signal.addEventListener("abort", () => end(failed("interrupted")));
    let { status } = behaviour;
    if (behaviour.arrival !== undefined)
      time.after(behaviour.arrival, () => {
        // A request in flight when the connection closed may or may not arrive.
        if (sent.endedAt === undefined || time.now - sent.endedAt < 200) status = onArrival(sent, status);
      });
    if (behaviour.response !== undefined)
      time.after(behaviour.response, () =>
        end(status === 0 ? failed("reset") : toReceived(status, behaviour.retryAfter)),
      );
    // The process times out unless it's frozen.
    time.after(timeoutMs, () => void process.life.deliver(undefined).then(() => end(failed("no response"))));
    return promise.then((received) => process.life.deliver(received));
  }

  /** Closes a killed process's connections. */
  onKill(process: SimulatedProcess): void {
    for (const sent of this.#inFlight)
      if (sent.process === process) {
        sent.endedAt ??= this.#options.time.now;
        this.#inFlight.delete(sent);
      }
  }

  /** Returns the processes waiting for a response. */
  get processes(): SimulatedProcess[] {
    return [...this.#inFlight].map(({ process }) => process);
  }

  /** From now on, all receivers respond right away. */
  endFailures(): void {
    this.failureProbability = 0;
    this.#down.clear();
  }

  restart(url: string, milliseconds: number): void {
    this.#down.set(url, this.#options.time.now + milliseconds);
  }

  #chooseBehaviour(url: string): ReceiverBehaviour {
    const { time, random } = this.#options;
    const arrival = random.between(1, 150);
    if ((this.#down.get(url) ?? 0) > time.now) return { response: arrival, status: 0 };
    const response = arrival + random.between(1, 150);
    if (!random.chance(this.failureProbability)) return { arrival, response, status: 200 };
    return random.pick<() => ReceiverBehaviour>([
      () => ({ arrival, response: arrival + random.between(1000, 14_000), status: 200 }),
      () => ({ arrival, response: arrival + random.between(14_500, 40_000), status: 200 }),
      () => ({ arrival, status: 200 }),
      () => ({ arrival, response, status: random.pick([302, 400, 404, 429, 500, 503]) }),
      () => ({ arrival, response, status: 503, retryAfter: String(random.whole(0, 90)) }),
      () => ({ response, status: 0 }),
      () => ({}) as ReceiverBehaviour,
      // The receiver stores the page but responds with an error.
      () => ({ arrival, response, status: 200.5 }),
      () => ({ arrival, response, status: random.chance(0.7) ? 410 : 204 }),
    ])();
  }
}

function toReceived(status: number, retryAfter: string | undefined): DeliveryResponse {
  const isDelivered = status >= 200 && status < 300;
  return { status, retryAfter, fault: isDelivered ? null : `the receiver responded with ${status}` };
}
