// Records what people can repeat as often as they like: refused sign-ins, refused actions, downloads and imports. A flood of these mustn't fill the journal, or
// delay other writes.
//
// The first one is recorded at once. Those like it are counted, and recorded as one event at the end of each minute. So an
// operator causes at most 23 commits per minute and their part of one that all share, and all strangers together as many as one operator.

import type { Logger } from "pino";
import { errorMessage } from "../lib/errors-for-log.ts";
import type { Engine } from "../model/engine.ts";
import { type AttributedEvent, type AuditEvent, recordEvents } from "../operator/journal/events.ts";

const minuteMs = 60_000;
/** Events of one actor, and of all, that are told apart. The rest is counted by actor and kind. */
const maxOfActor = 20;
const maxEvents = 200;
/** Addresses that are told apart, per event. */
const maxAddresses = 100;

interface Counted extends AttributedEvent {
  /** Since it was last recorded. */
  count: number;
  /** Of those counted. */
  addresses: Set<string>;
}

interface RepeatedEventsOptions {
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Pick<Logger, "warn">;
}

export class RepeatedEvents {
  readonly #engine: Pick<Engine, "commit">;
  readonly #options: RepeatedEventsOptions;
  readonly #counted = new Map<string, Counted>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(engine: Pick<Engine, "commit">, options: RepeatedEventsOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  /**
   * Resolves once the event is on durable storage, or right away if it was only counted. Logs a failure.
   * @param actor `console:<name>`, or `console` for someone who isn't signed in
   */
  async add(sent: AuditEvent, actor: `console:${string}` | "console", run?: string): Promise<void> {
    const { key, event, found } = this.#find({ event: sent, actor });
    if (found) {
      found.count++;
      if (sent.address && found.addresses.size < maxAddresses) found.addresses.add(sent.address);
      return;
    }
    this.#counted.set(key, { event, actor, count: 0, addresses: new Set() });
    this.#startMinute();
    await this.#record([{ event, actor, run }]);
  }

  /** What this is counted as: at a limit, only with its actor and kind. */
  #find({ event, actor }: AttributedEvent) {
    const { address: _, ...told } = event;
    const key = JSON.stringify([actor, told]);
    const found = this.#counted.get(key);
    if (found) return { key, event, found };
    const own = [...this.#counted.values()].filter((one) => one.actor === actor);
    if (own.length < maxOfActor && this.#counted.size < maxEvents) return { key, event, found };
    const rest = { kind: event.kind, operator: event.operator };
    const restKey = JSON.stringify([actor, rest]);
    return { key: restKey, event: rest, found: this.#counted.get(restKey) };
  }

  #startMinute(): void {
    this.#timer ??= setTimeout(() => void this.endMinute(), minuteMs).unref();
  }

  /** Records what was counted so far. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#record(this.#takeRepeated());
  }

  /** Called by a timer, and by tests. */
  async endMinute(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const repeated = this.#takeRepeated();
    if (this.#counted.size > 0) this.#startMinute();
    await this.#record(repeated);
  }

  /** What has happened again is still counted in the next minute. Anything else will be recorded at once. */
  #takeRepeated(): AttributedEvent[] {
    const repeated: AttributedEvent[] = [];
    for (const [key, counted] of [...this.#counted]) {
      const { event, actor, count, addresses } = counted;
      if (count === 0) {
        this.#counted.delete(key);
        continue;
      }
      const [address] = addresses;
      const several = addresses.size > 1 ? addresses.size : undefined;
      repeated.push({ actor, event: { ...event, address, addresses: several, count } });
      counted.count = 0;
      counted.addresses = new Set();
    }
    return repeated;
  }

  async #record(events: readonly AttributedEvent[]): Promise<void> {
    if (events.length === 0) return;
    try {
      await recordEvents(this.#engine, events, this.#options.now());
    } catch (error) {
      this.#options.log.warn({ reason: errorMessage(error) }, "couldn't record an event in the audit log");
    }
  }
}
