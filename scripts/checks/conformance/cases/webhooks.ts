// Contract section 12: webhooks, as their receiver sees them.

import { createHmac, randomUUID } from "node:crypto";
import { casesOf } from "../case.ts";
import type { ReceivedEvent } from "../receiver.ts";
import { NotTested, type Shop } from "../shop.ts";

const { once } = casesOf(12);

export const webhookCases = [
  once(
    "A delivery is a POST",
    "a delivery has 1 to 100 changes as in the feed, oldest first, and is signed",
    async (shop) => {
      const { event, id } = await deliver(shop);
      const { type, data } = JSON.parse(event.body);
      const answer = await shop.call("GET", `changes?since=${data.Since}&limit=${data.Changes.length}`);
      shop.same(answer, "method and type of the event", [event.method, type], ["POST", "storefront.changes"]);
      shop.holds(answer, "1 to 100 changes", data.Changes.length >= 1 && data.Changes.length <= 100);
      shop.same(answer, "the changes of the event", data.Changes, JSON.parse(answer.text).Changes);
      shop.holds(
        answer,
        `the change of ${id}`,
        data.Changes.some(({ ID }: { ID: number }) => ID === id),
      );
      const site = await shop.call("GET", "/restapi/key.json");
      shop.same(site, "Site of the event", data.Site, JSON.parse(site.text).Site);
      const signed = `${event.headers["webhook-id"]}.${event.headers["webhook-timestamp"]}.${event.body}`;
      const secret = Buffer.from(shop.need("webhookSecret").replace("whsec_", ""), "base64");
      const signature = `v1,${createHmac("sha256", secret).update(signed).digest("base64")}`;
      const signatures = event.headers["webhook-signature"]?.split(" ") ?? [];
      shop.holds(answer, "a signature by the secret in webhook-signature", signatures.includes(signature));
      const age = Math.abs(Date.now() / 1000 - Number(event.headers["webhook-timestamp"]));
      shop.holds(answer, "a timestamp of the last five minutes", age < 300);
    },
  ),
  once("Secrets consist of `whsec_`", "a secret is whsec_ and 32 bytes in base64", async (shop) => {
    const secret = shop.need("webhookSecret");
    const bytes = Buffer.from(secret.replace("whsec_", ""), "base64").length;
    shop.holds(await shop.call("GET", "/healthz"), "a secret of 32 bytes", secret.startsWith("whsec_") && bytes === 32);
  }),
  once("After a 2xx", "every change arrives, in order", async (shop) => {
    const start = await shop.call("GET", "changes?since=now");
    for (let i = 0; i < 3; i++) await deliver(shop);
    const first = JSON.parse(start.text).Next as string;
    const bodies = (shop.receiver?.events ?? []).map(({ body }) => JSON.parse(body).data);
    const arrived: number[] = bodies.flatMap(({ Changes = [] }) => Changes.map(revisionOf));
    const answer = await shop.call("GET", `changes?since=${first}&limit=1000`);
    const isWanted = (revision: number) => revision > Number(first.split(".")[1]) && revision <= (arrived.at(-1) ?? 0);
    const revisions: number[] = JSON.parse(answer.text).Changes.map(revisionOf);
    shop.same(answer, "the revisions that arrived", arrived.filter(isWanted), revisions.filter(isWanted));
  }),
  once("Every attempt to deliver", "an event's ID contains its first and last revision", async (shop) => {
    const { event } = await deliver(shop);
    const { Changes } = JSON.parse(event.body).data;
    const [digest, last] = Changes.at(-1).Cursor.split(".");
    const id = new RegExp(`^evt_\\d+_\\w+_${Changes[0].Revision}_${last}_${digest}(_\\d+)?$`);
    const answer = await shop.call("GET", "changes?since=now");
    shop.holds(
      answer,
      `an ID of the form ${id}, not ${event.headers["webhook-id"]}`,
      id.test(event.headers["webhook-id"] ?? ""),
    );
  }),
  once("Every attempt to deliver", "different pages have different IDs", async (shop) => {
    await deliver(shop);
    const bodies = new Map<string, string>();
    const answer = await shop.call("GET", "changes?since=now");
    for (const { headers, body } of shop.receiver?.events ?? []) {
      const changes = JSON.stringify(JSON.parse(body).data);
      const id = headers["webhook-id"] ?? "";
      shop.same(answer, `the data of ${id}`, changes, bodies.get(id) ?? changes);
      bodies.set(id, changes);
    }
  }),
  once("`Since` in `data` is", "Since is the previous event's Next", async (shop) => {
    await deliver(shop);
    await deliver(shop);
    const answer = await shop.call("GET", "changes?since=now");
    let next: string | undefined;
    for (const { body } of shop.receiver?.events ?? []) {
      const { data } = JSON.parse(body);
      if (!data.Changes) continue;
      if (next) shop.same(answer, "Since of an event", data.Since, next);
      next = data.Next;
    }
  }),
];

function revisionOf({ Revision }: { readonly Revision: number }): number {
  return Revision;
}

/** Creates a record, and returns the event that delivers it. */
async function deliver(shop: Shop): Promise<{ event: ReceivedEvent; id: number }> {
  shop.need("webhookPort");
  if (!shop.receiver) throw new NotTested("the receiver of webhooks does not run");
  const { answer, record, id } = await shop.create("orderstatuses", { Name: shop.mark + randomUUID() });
  const event = await shop.receiver.find(({ body }) => body.includes(`"Name":${JSON.stringify(record.Name)}`));
  return event
    ? { event, id }
    : shop.fail(
        answer,
        "an event with this change within ten seconds. If earlier deliveries failed, run `webhook resume` first",
      );
}
