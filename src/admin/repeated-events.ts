// Records what people can repeat as often as they like: refused sign-ins, refused actions, downloads and imports. A flood of these mustn't fill the journal or
// delay other writes. So up to 10 a minute are recorded for each actor, kind and detail, and the rest as one entry at the end of the minute. Strangers count as
// one actor, however many there are.

import type { Logger } from "pino";
import { errorMessage } from "../lib/errors-for-log.ts";
import type { Engine } from "../model/engine.ts";
import { type AuditEvent, recordEvent } from "../operator/journal/events.ts";

const minuteMs = 60_000;
const maxPerMinute = 10;

/** The events of an actor in this minute that have the same kind and detail. There are about ten of these for each operator, and three for strangers. */
interface Counted {
  readonly actor: string;
  /** What the entry says about those beyond the maximum. */
  readonly event: Pick<AuditEvent, "kind" | "detail" | "operator">;
  count: number;
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
  /** What's being stored. */
  readonly #recording = new Set<Promise<void>>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(engine: Pick<Engine, "commit">, options: RepeatedEventsOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  /**
   * Resolves once the event is on durable storage, or right away if it was only counted. Logs a failure.
   * @param event its `detail` must be one of a few
   * @param actor `console:<name>`, or `console` for someone who isn't signed in
   */
  async add(event: AuditEvent, actor: `console:${string}` | "console", run?: string): Promise<void> {
    this.#timer ??= setTimeout(() => void this.endMinute(), minuteMs).unref();
    const { kind, detail } = event;
    const operator = actor === "console" ? undefined : event.operator;
    const key = `${kind} ${detail} ${actor}`;
    const counted = this.#counted.get(key) ?? { actor, event: { kind, detail, operator }, count: 0 };
    this.#counted.set(key, counted);
    counted.count++;
    if (counted.count <= maxPerMinute) await this.#record(event, actor, run);
  }

  /** Records how many more there were, and waits until everything is stored. Called by a timer, before the server stops, and by tests. */
  async endMinute(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const counts = [...this.#counted.values()];
    this.#counted.clear();
    for (const { event, actor, count } of counts)
      if (count > maxPerMinute) void this.#record({ ...event, count: count - maxPerMinute }, actor);
    await Promise.all(this.#recording);
  }

  #record(event: AuditEvent, actor: string, run?: string): Promise<void> {
    const { now, log } = this.#options;
    const recording = recordEvent(this.#engine, event, now(), { actor, run })
      .catch((error) => log.warn({ reason: errorMessage(error) }, "couldn't record an event in the audit log"))
      .finally(() => this.#recording.delete(recording));
    this.#recording.add(recording);
    return recording;
  }
}
