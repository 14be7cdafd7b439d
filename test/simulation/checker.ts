// What must hold of everything that a webhook sends, whatever happens: in order, nothing missing, nothing forged, no more repeats than allowed.

import { createHmac } from "node:crypto";
import type { RecordChange } from "../../src/model/change.ts";
import { toDeclared } from "../../src/model/record.ts";
import { allResources } from "../../src/resources/all.ts";
import type { Sent } from "./network.ts";

interface EventBody {
  readonly type: string;
  readonly data: {
    readonly Site: string;
    readonly Changes?: readonly { Cursor: string; Operation: string; Resource: string; ID: number; Record: unknown }[];
    readonly Next: string;
  };
}

interface CurrentEvent {
  readonly id: string;
  readonly last: number;
  isAccepted: boolean;
}

type ModelChange = RecordChange & { readonly at: number };

/** The site as the simulation knows it: its journal in each of its histories. */
export interface SiteModel {
  readonly name: string;
  readonly changes: ModelChange[];
  /** How often something happened after which changes may be gone: a prune, or a new history. */
  losses: number;
}

const revisionIn = (cursor: string) => Number(cursor.slice(cursor.lastIndexOf(".") + 1));
const resources = new Map(allResources.map((resource) => [resource.name, resource]));

export class WebhookChecker {
  readonly faults: string[] = [];
  readonly secrets: string[];
  sends = 0;
  repeats = 0;
  /** Revisions to which it was rewound, by the number of the rewind. */
  readonly rewinds: number[] = [];
  isRemoved = false;
  pausedAt: number | undefined;
  readonly #site: SiteModel;
  readonly #names: ReadonlySet<string>;
  readonly #bodies = new Map<string, string>();
  readonly #underWay = new Set<Sent>();
  /** IDs of the events after which the cursor was moved. */
  readonly #passed = new Set<string>();
  #rewind = 0;
  /** The event that is being delivered, and whether the receiver accepted it. */
  #current: CurrentEvent | undefined;
  /** The revision up to which the receiver has everything. */
  #position = 0;
  readonly #gone = new Set<string>();

  /** @param names of the resources that it follows */
  constructor(site: SiteModel, names: ReadonlySet<string>, secret: string) {
    this.#site = site;
    this.#names = names;
    this.secrets = [secret];
  }

  /** Events that say that changes are gone. */
  get gone(): number {
    return this.#gone.size;
  }

  onSend(sent: Sent, now: number): void {
    const { id, text } = this.#read(sent);
    this.sends++;
    if (this.#bodies.has(id)) this.repeats++;
    if ((this.#bodies.get(id) ?? text) !== text) this.#fault(`${id} has another body than before`);
    this.#bodies.set(id, text);
    if (this.#passed.has(id)) this.#fault(`${id} is sent again although the cursor is after it`);
    for (const other of this.#underWay) {
      const isGone = other.endedAt !== undefined || !other.process.isAlive;
      if (isGone) this.#underWay.delete(other);
      else if (other.process.frozenAt === undefined || other.process.frozenAt < other.startedAt)
        this.#fault(`${id} is sent while ${other.delivery.headers["webhook-id"]} is under way`);
    }
    this.#underWay.add(sent);
    if (this.pausedAt !== undefined && now > this.pausedAt + 60_000)
      this.#fault(`${id} is sent although the webhook is paused`);
    if (this.isRemoved) this.#fault(`${id} is sent although the webhook was removed`);
  }

  /** The request arrived. @returns whether the receiver has it now */
  onArrival(sent: Sent, isAccepted: boolean): void {
    const { id, event } = this.#read(sent);
    this.#verify(sent);
    const rewind = Number(/_(\d+)$/.exec(this.#suffixOf(id))?.[1] ?? 0);
    if (rewind < this.#rewind) return;
    if (rewind > this.#rewind) {
      this.#rewind = rewind;
      this.#position = this.rewinds[rewind - 1] as number;
      this.#current = undefined;
    }
    const current = this.#current?.id === id ? this.#current : this.#begin(id, event);
    if (isAccepted && !current.isAccepted) {
      current.isAccepted = true;
      this.#position = current.last;
    }
  }

  /** The cursor was moved to `next`. */
  onCursor(id: string): void {
    this.#passed.add(id);
  }

  /** Checks that the receiver has everything. */
  atEnd(): void {
    const last = this.#site.changes.findLast(({ resource }) => this.#names.has(resource));
    // After a rewind there may have been nothing to deliver.
    const position = this.rewinds.length > this.#rewind ? (this.rewinds.at(-1) as number) : this.#position;
    if (last && position < last.revision) this.#fault(`it ends at ${position} of ${last.revision}`);
  }

  #begin(id: string, { type, data }: EventBody): CurrentEvent {
    const last = revisionIn(data.Next);
    if (type === "storefront.gone") {
      this.#gone.add(id);
      if (this.#gone.size > this.#site.losses) this.#fault(`${id} without a reason`);
    } else {
      if (this.#current && !this.#current.isAccepted)
        this.#fault(`${id} begins before ${this.#current.id} was accepted`);
      this.#compare(id, data, last);
    }
    this.#current = { id, last, isAccepted: false };
    return this.#current;
  }

  /** A page has exactly the changes after the position. */
  #compare(id: string, { Changes = [], Site }: EventBody["data"], last: number): void {
    const expected = this.#site.changes
      .filter(({ revision, resource }) => revision > this.#position && revision <= last && this.#names.has(resource))
      .map(toExpected);
    const found = Changes.map(({ Cursor, ...rest }) => ({ revision: revisionIn(Cursor), ...rest }));
    if (JSON.stringify(found) !== JSON.stringify(expected))
      this.#fault(`${id} has not the changes after ${this.#position}: ${found.map(({ revision }) => revision)}`);
    if (Site !== this.#site.name) this.#fault(`${id} names another site`);
    if (Changes.length < 1 || Changes.length > 100) this.#fault(`${id} has ${Changes.length} changes`);
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

  #read({ delivery }: Sent): { id: string; text: string; event: EventBody } {
    const id = delivery.headers["webhook-id"] ?? "";
    if (id === "" || id.includes(".")) this.#fault(`invalid ID ${id}`);
    return { id, text: delivery.body, event: JSON.parse(delivery.body) };
  }

  /** What follows the revisions of an ID. */
  #suffixOf(id: string): string {
    return id.replace(/^evt_\d+_[0-9A-Za-z]+_(?:gone_\d+_\d+|\d+_\d+_[0-9a-f]+)/, "");
  }

  #fault(text: string): void {
    this.faults.push(text);
  }
}

function toExpected({ revision, at, operation, resource, id, body }: ModelChange) {
  const declared = resources.get(resource) as NonNullable<ReturnType<typeof resources.get>>;
  const Record = operation === "delete" ? null : JSON.parse(toDeclared(declared, body));
  const Time = new Date(at).toISOString();
  return { revision, Time, Operation: operation, Resource: declared.path, ID: id, Record };
}
