// Delivers to a receiver with real processes, while changes are written and the delivering process gets killed.

import { Webhook } from "standardwebhooks";
import { createSite } from "../../../src/operator/sites/sites.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { startProcess } from "../programs/processes.ts";
import { type ReceivedEvent, startReceiver } from "./receiver.ts";
import { createTestWebhook } from "./test-webhook.ts";

export interface DeliveryOptions {
  /** Changes to deliver, written while others are delivered. */
  readonly changes: number;
  /** How often the delivering process is killed. */
  readonly kills: number;
}

export interface DeliveryFigures {
  readonly milliseconds: number;
  readonly events: number;
  /** Events that arrived more than once, at most one per kill. */
  readonly repeats: number;
  /** Milliseconds from each kill to the next event. */
  readonly pauses: readonly number[];
}

/** Per transaction. */
const batch = 100;

/** @throws Error if a change is missing, out of order or unsigned */
export async function deliverUnderKills(
  database: string,
  { changes, kills }: DeliveryOptions,
): Promise<DeliveryFigures> {
  const engine = await openEngine(database, allResources);
  const receiver = await startReceiver();
  const checker = new OrderChecker();
  let server = await startProcess({ DATABASE: database });
  try {
    const site = await createSite(engine, "shop", {}, Date.now());
    const { secret } = await createTestWebhook(engine, site.ID, receiver.url);
    let onWaiting: (() => void) | undefined;
    receiver.respond((response, event) => {
      checker.add(event, secret);
      // Kill the sender while it's waiting for the response.
      if (onWaiting) onWaiting();
      else response.end();
      onWaiting = undefined;
    });
    const started = performance.now();
    const pauses: number[] = [];
    const write = async (first: number) => {
      const values = Array.from({ length: batch }, (_, i) => ({ Name: `Brand ${first + i}` }));
      const intent = { site: site.ID, resource: "brand", operation: "create", actor: "sfk_x", at: Date.now() } as const;
      await engine.commit(values.map((value) => ({ ...intent, valuesJson: JSON.stringify(value) })));
    };
    const writeAndKill = async (first: number) => {
      const waiting = new Promise<void>((resolve) => {
        onWaiting = resolve;
      });
      await write(first);
      await waiting;
      const successor = await startProcess({ DATABASE: database });
      const [killedAt, seen] = [performance.now(), receiver.events.length];
      await server.end("SIGKILL");
      server = successor;
      await receiver.received(seen + 1);
      pauses.push(Math.round(performance.now() - killedAt));
    };
    for (let written = 0; written < changes; written += batch) {
      const isDue = pauses.length < kills && written >= ((pauses.length + 1) * changes) / (kills + 1);
      await (isDue ? writeAndKill(written) : write(written));
    }
    while (checker.position < changes && checker.faults.length === 0) await Bun.sleep(10);
    if (checker.faults.length > 0) throw new Error(checker.faults.join("\n"));
    return {
      milliseconds: Math.round(performance.now() - started),
      events: receiver.events.length,
      repeats: checker.repeats,
      pauses,
    };
  } finally {
    await server.end();
    await receiver.stop();
    await engine.close();
  }
}

/** Checks that each event starts where the previous one ends, or repeats it. */
class OrderChecker {
  readonly faults: string[] = [];
  position = 0;
  repeats = 0;
  #last = "";

  add({ headers, body }: ReceivedEvent, secret: string): void {
    try {
      const { data } = new Webhook(secret).verify(body, { ...headers }) as { data: { Changes: { Cursor: string }[] } };
      const revisions = data.Changes.map(({ Cursor }) => Number(Cursor.split(".")[1]));
      const id = headers["webhook-id"] ?? "";
      if (id === this.#last) this.repeats++;
      else if (revisions.some((revision, i) => revision !== this.position + 1 + i))
        this.faults.push(`${id} follows ${this.position}`);
      else this.position = revisions.at(-1) as number;
      this.#last = id;
    } catch (error) {
      this.faults.push(String(error));
    }
  }
}
