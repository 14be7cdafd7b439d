// Checks all of a webhook's requests: they're signed and in order, no change is missing, and nothing is repeated more often than allowed. The receiver follows
// docs/webhooks.md, and in the end its copy of the records must equal the site.

import { createHmac } from "node:crypto";
import type { Sent } from "./network.ts";
import { applyTo, type ModelChange, type ShownChange, type SiteModel, toShown } from "./site-model.ts";

/** A change in an event. */
interface SentChange extends ShownChange {
  readonly Cursor: string;
  readonly Revision: number;
  readonly ETag: string | null;
}

interface EventBody {
  readonly type: string;
  readonly data: {
    readonly Site: string;
    readonly Since: string;
    readonly Changes?: readonly SentChange[];
    readonly Next: string;
  };
}

/** An event that arrived. */
interface ArrivedEvent extends EventBody {
  readonly id: string;
  /** Number of the last rewind before it. */
  readonly rewind: number;
}

/**
 * How often a rewind, or a rollback of the database, may break the chain. It can be more than once, because requests in flight may arrive between later ones.
 */
const breaksPerRollback = 3;
/** How long after a pause a request may still start. */
const pauseMs = 60_000;

const revisionIn = (cursor: string) => Number(cursor.slice(cursor.lastIndexOf(".") + 1));
const idPattern = /^evt_\d+_[0-9A-Za-z]+_(?:gone_\d+_\d+|\d+_\d+_[0-9a-f]{12})(?:_(\d+))?$/;

export class WebhookChecker {
  readonly faults: string[] = [];
  readonly secrets: string[];
  sends = 0;
  repeats = 0;
  isRemoved = false;
  /** How often an operator has resumed the webhook. */
  resumes = 0;
  pausedAt: number | undefined;
  /** Whether the site has an epoch that the receiver doesn't know about. */
  isGoneExpected = false;
  /** When the database's clock last jumped, which may have ended a lease early. */
  jumpedAt = Number.NEGATIVE_INFINITY;
  readonly #site: SiteModel;
  readonly #names: ReadonlySet<string>;
  readonly #bodies = new Map<string, string>();
  readonly #inFlight = new Set<Sent>();
  /** IDs of events after which the cursor was moved. */
  readonly #passed = new Set<string>();
  /** Each process's last request. */
  readonly #lastOf = new Map<string, Sent>();
  readonly #gone = new Set<string>();
  /** Where the first event after each rewind starts, by the rewind's number. */
  readonly #rewinds = new Map<number, { readonly revision: number; isOver: boolean; rollbacks: number }>();
  #resumedAt = Number.NEGATIVE_INFINITY;
  /** Nothing may be sent before this time, on a clock with this skew. */
  #wait: { readonly until: number; readonly skew: number } | undefined;
  /** The event being delivered, and the site's losses when that started. */
  #current: (ArrivedEvent & { isAccepted: boolean; readonly losses: number }) | undefined;
  /** The receiver's state: the IDs it knows, the last `Next`, and the records. */
  readonly #known = new Set<string>();
  #last: string | undefined;
  #copy = new Map<string, string>();
  /** The highest revision applied to each record, including deleted ones. */
  readonly #revisions = new Map<string, number>();
  #breaks = 0;
  #breaksAllowed = 0;

  /** @param names of the resources the webhook follows */
  constructor(site: SiteModel, names: ReadonlySet<string>, secret: string) {
    this.#site = site;
    this.#names = names;
    this.secrets = [secret];
  }

  /** Events that report missing changes. */
  get gone(): number {
    return this.#gone.size;
  }

  onSend(sent: Sent, now: number): void {
    const { id, text } = read(sent);
    this.sends++;
    if (this.#bodies.has(id)) this.repeats++;
    if ((this.#bodies.get(id) ?? text) !== text) this.#fault(`${id} has another body than before`);
    this.#bodies.set(id, text);
    if (this.#passed.has(id) && this.jumpedAt < now - pauseMs)
      this.#fault(`${id} is sent again although the cursor is after it`);
    this.#requireAlone(id, now);
    this.#inFlight.add(sent);
    this.#lastOf.set(sent.process.name, sent);
    const { skew } = sent.process;
    if (this.#wait?.skew === skew && now + skew < this.#wait.until) this.#fault(`${id} is sent before its time`);
    const since = Math.min(
      this.pausedAt ?? Number.POSITIVE_INFINITY,
      this.#site.suspendedAt ?? Number.POSITIVE_INFINITY,
    );
    if (now > since + pauseMs) this.#fault(`${id} is sent although the webhook is paused`);
    if (this.isRemoved) this.#fault(`${id} is sent although the webhook was removed`);
  }

  #requireAlone(id: string, now: number): void {
    for (const other of this.#inFlight) {
      const isGone = other.endedAt !== undefined || !other.process.isAlive;
      if (isGone) this.#inFlight.delete(other);
      else if (other.process.life.frozenAt !== undefined && other.process.life.frozenAt >= other.startedAt) continue;
      else if (Math.max(this.jumpedAt, this.#site.rolledBackAt) < now - pauseMs)
        this.#fault(`${id} is sent while ${other.delivery.headers["webhook-id"]} is in flight`);
    }
  }

  /** A request has arrived. */
  onArrival(sent: Sent, isAccepted: boolean, now: number): void {
    const { id, event } = read(sent);
    this.#verify(sent);
    const [, rewind = "0"] = idPattern.exec(id) ?? [];
    if (!idPattern.test(id)) this.#fault(`invalid ID ${id}`);
    if (this.#known.has(id)) return;
    if (this.#current?.id !== id) this.#begin({ ...event, id, rewind: Number(rewind) }, now);
    if (isAccepted) this.#accept(id, event);
  }

  /** The state was stored with this event delivered. @param failures in that state */
  onSuccess(id: string, failures: number): void {
    this.#passed.add(id);
    this.#wait = undefined;
    if (failures > 0) this.#fault(`${id} was delivered, and the failures before it count`);
  }

  /** The state was stored with a process's failed attempt. @param nextAt when to try again @returns the failed request */
  onFailure(process: string, nextAt: number): Sent | undefined {
    const sent = this.#lastOf.get(process);
    if (sent && sent.startedAt < this.#resumedAt)
      this.#fault(`${read(sent).id} began before the webhook was resumed, and undoes that`);
    if (sent) this.#wait = { until: nextAt, skew: sent.process.skew };
    return sent;
  }

  onResume(now: number): void {
    this.resumes++;
    this.#resumedAt = now;
    this.#wait = undefined;
    this.pausedAt = undefined;
  }

  /** @param revision changes after it are delivered again */
  onRewind(rewind: number, revision: number): void {
    this.#rewinds.set(rewind, { revision, isOver: false, rollbacks: this.#site.rollbacks });
    this.#breaksAllowed += breaksPerRollback;
    this.#wait = undefined;
    this.isGoneExpected = false;
  }

  /** The database was rolled back. */
  onRollback(): void {
    this.#passed.clear();
    this.#breaksAllowed += breaksPerRollback;
    this.#wait = undefined;
    this.#resumedAt = Number.NEGATIVE_INFINITY;
  }

  /** Adds a fault that doesn't show in the events. */
  add(fault: string): void {
    this.#fault(fault);
  }

  /** Checks that the receiver has all records. */
  atEnd(): void {
    const expected = [...this.#site.records(this.#names)].sort();
    const found = [...this.#copy].sort();
    if (JSON.stringify(found) !== JSON.stringify(expected))
      this.#fault(
        `the receiver has ${found.length} records in the end, which are not the ${expected.length} of the site`,
      );
  }

  #begin(event: ArrivedEvent, now: number): void {
    const { id, type, rewind } = event;
    const before = this.#current;
    if (type === "storefront.gone") {
      this.#gone.add(id);
      this.isGoneExpected = false;
      this.#beginAfter(rewind);
      if (this.#gone.size > this.#site.losses) this.#fault(`${id} without a reason`);
    } else {
      if (this.#isLate(event, now)) return;
      const isSuperseded = before?.rewind !== rewind || before.losses !== this.#site.losses;
      if (before && !before.isAccepted && !isSuperseded) this.#fault(`${id} begins before ${before.id} was accepted`);
      if (this.isGoneExpected && id.split("_")[2] === this.#site.epoch) this.#fault(`${id} is of another epoch`);
      this.#compare(event);
    }
    this.#current = { ...event, isAccepted: false, losses: this.#site.losses };
  }

  /** Does what docs/webhooks.md asks receivers to do. */
  #accept(id: string, { type, data }: EventBody): void {
    if (this.#current?.id === id) this.#current.isAccepted = true;
    this.#known.add(id);
    const isBroken = this.#last !== undefined && data.Since !== this.#last;
    // The receiver may have accepted earlier events whose response the server didn't get.
    const isFault = isBroken && type !== "storefront.gone" && ++this.#breaks > this.#breaksAllowed;
    if (isFault) this.#fault(`${id} does not continue ${this.#last}`);
    const isRead = type === "storefront.gone" || isBroken || this.#last === undefined;
    if (isRead) this.#readLists(data.Next);
    else for (const change of data.Changes ?? []) this.#apply(change);
    this.#last = data.Next;
  }

  #readLists(cursor: string): void {
    this.#copy = this.#site.records(this.#names, revisionIn(cursor));
    this.#revisions.clear();
  }

  /** Applies a change unless the copy already has the same or a later version of the record. */
  #apply(change: SentChange): void {
    const record = `${change.Resource} ${change.ID}`;
    if (change.Revision <= (this.#revisions.get(record) ?? 0)) return;
    applyTo(this.#copy, change);
    this.#revisions.set(record, change.Revision);
  }

  /** Checks that a page has exactly the changes since the previous event or the rewind. */
  #compare(event: ArrivedEvent): void {
    const { id, rewind, data } = event;
    const { Changes = [], Site, Since } = data;
    if (Site !== this.#site.name) this.#fault(`${id} names another site`);
    if (Changes.length < 1 || Changes.length > 100) this.#fault(`${id} has ${Changes.length} changes`);
    if (!Changes.every((change) => isVersioned(change, id.split("_")[2] ?? "")))
      this.#fault(`${id} has wrong versions`);
    const begins = this.#beginsOf(rewind, revisionIn(Since));
    const isRight = begins.some((from) => this.#isPageOf(this.#site.changes, event, from));
    if (isRight) this.#beginAfter(rewind);
    else this.#fault(`${id} has not the changes after ${begins.join(" or ")}`);
  }

  /** Whether a page was in flight when its journal was replaced, so we don't know where it starts. */
  #isLate(event: ArrivedEvent, now: number): boolean {
    const { rewind, data } = event;
    const first = revisionIn(data.Changes?.[0]?.Cursor ?? "");
    const isPresent = this.#beginsOf(rewind, revisionIn(data.Since)).some((from) =>
      this.#isPageOf(this.#site.changes, event, from),
    );
    return !isPresent && this.#site.replaced(now).some((changes) => this.#isPageOf(changes, event, first - 1));
  }

  #isPageOf(changes: readonly ModelChange[], { data: { Changes = [], Next } }: ArrivedEvent, from: number): boolean {
    const found = Changes.map(({ Cursor, Revision, ETag, ...rest }) => ({ revision: Revision, ...rest }));
    const wanted = changes.filter(
      ({ revision, resource }) => revision > from && revision <= revisionIn(Next) && this.#names.has(resource),
    );
    return JSON.stringify(wanted.map(toShown)) === JSON.stringify(found);
  }

  /** Returns the revisions after which an event may start: the first one after a rewind starts there, and each later one continues the previous. */
  #beginsOf(rewind: number, since: number): readonly number[] {
    const found = this.#rewinds.get(rewind);
    if (!found) return [since];
    // If the database has been rolled back since, both are right.
    if (found.rollbacks !== this.#site.rollbacks) return [since, found.revision];
    return found.isOver ? [since] : [found.revision];
  }

  #beginAfter(rewind: number): void {
    const found = this.#rewinds.get(rewind);
    if (found) this.#rewinds.set(rewind, { ...found, isOver: true, rollbacks: this.#site.rollbacks });
  }

  #verify({ delivery: { headers, body } }: Sent): void {
    const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
    const valid = this.secrets.map(
      (secret) =>
        `v1,${createHmac("sha256", Buffer.from(secret.slice(6), "base64"))
          .update(content)
          .digest("base64")}`,
    );
    const signatures = headers["webhook-signature"]?.split(" ") ?? [];
    if (!valid.some((signature) => signatures.includes(signature)))
      this.#fault(`${headers["webhook-id"]} is not signed`);
  }

  #fault(text: string): void {
    this.faults.push(text);
  }
}

/** Whether a change's revision and ETag match its entry in `epoch`. */
function isVersioned({ Cursor, Operation, Revision, ETag }: SentChange, epoch: string): boolean {
  const isTagged = Operation === "delete" ? ETag === null : ETag?.startsWith(`"${epoch}.${Revision}.`) === true;
  return isTagged && Revision === revisionIn(Cursor);
}

function read({ delivery }: Sent): { id: string; text: string; event: EventBody } {
  const text = delivery.body.toString();
  return { id: delivery.headers["webhook-id"] ?? "", text, event: JSON.parse(text) };
}
