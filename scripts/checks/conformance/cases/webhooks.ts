// Contract section 12: webhooks, as their receiver sees them, and by API.

import { createHmac, randomUUID } from "node:crypto";
import { casesOf } from "../case.ts";
import type { ReceivedEvent } from "../receiver.ts";
import { type Answer, untilAllowed } from "../requests.ts";
import { type CallOptions, NotTested, type Shop } from "../shop.ts";

const { both, once } = casesOf(12);

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
  both("A key with the right `webhooks:write`", "a key without the right gets a 403 that names it", async (shop) => {
    for (const [method, path] of [
      ["GET", "webhooks"],
      ["POST", "webhooks"],
      ["POST", "webhooks/1/rotate"],
    ] as const)
      shop.problem(await shop.call(method, path, { body: "" }), 403, /webhooks:write/);
  }),
  both(
    "`POST /restapi/webhooks.json`",
    "a webhook is created with a secret, which isn't shown again, and a second one with its URL is rejected",
    async (shop) => {
      const { answer, id, webhook } = await createWebhook(shop);
      shop.header(answer, "Location", `/restapi/webhooks/${id}.${shop.format}`);
      const secret = String(webhook.Secret);
      const bytes = Buffer.from(secret.replace("whsec_", ""), "base64").length;
      shop.holds(answer, "a secret of 32 bytes", secret.startsWith("whsec_") && bytes === 32);
      const expected = { ...webhook, Secret: "" };
      const read = await manage(shop, "GET", `webhooks/${id}`);
      shop.same(read, "the webhook", shop.record(read, "webhooks"), expected);
      const list = await manage(shop, "GET", "webhooks");
      const own = shop.list(list, "webhooks").filter(({ ID }) => ID === id);
      shop.same(list, "the webhook in the list", own, [expected]);
      const repeated = await manage(shop, "POST", "webhooks", { body: { URL: urlOf(shop) } });
      shop.problem(repeated, 400, new RegExp(`\\b${id}\\b`));
    },
  ),
  both(
    "`POST /restapi/webhooks/{id}/pause.json`",
    "a webhook is changed, paused, resumed, rotated, tested and deleted",
    async (shop) => {
      const { id, webhook } = await createWebhook(shop);
      const act = async (method: string, path = "", body?: CallOptions["body"]) => {
        const answer = await manage(shop, method, `webhooks/${id}${path}`, body === undefined ? {} : { body });
        shop.status(answer, 200);
        return { answer, result: shop.record(answer, path === "/test" ? "deliveries" : "webhooks") };
      };
      const changed = await act("PUT", "", { URL: `${urlOf(shop)}/new` });
      shop.same(changed.answer, "the URL", changed.result.URL, `${urlOf(shop)}/new`);
      const paused = await act("POST", "/pause");
      shop.same(paused.answer, "the status", paused.result.Status, "paused");
      const resumed = await act("POST", "/resume");
      shop.holds(resumed.answer, "another status than paused", resumed.result.Status !== "paused");
      const rotated = await act("POST", "/rotate");
      const isNew = /^whsec_/.test(String(rotated.result.Secret)) && rotated.result.Secret !== webhook.Secret;
      shop.holds(rotated.answer, "a new secret", isNew);
      const tested = await act("POST", "/test");
      shop.holds(tested.answer, "an attempt that failed, because the host can't exist", tested.result.Fault !== "");
      const deliveries = await manage(shop, "GET", `webhooks/${id}/deliveries`);
      const ids = shop.list(deliveries, "deliveries").map(({ ID }) => ID);
      shop.holds(deliveries, `the attempt ${tested.result.ID}`, ids.includes(tested.result.ID));
      const deleted = await act("DELETE");
      shop.same(deleted.answer, "the ID", deleted.result.ID, id);
      shop.problem(await manage(shop, "GET", `webhooks/${id}`), 404);
    },
  ),
  both("All of these exist in XML too", "there are no parameters, conditions and ETags", async (shop) => {
    shop.problem(await manage(shop, "GET", "webhooks?limit=1"), 400);
    shop.problem(await manage(shop, "GET", "webhooks", { headers: { "If-Match": '"x"' } }), 412);
    const answer = await manage(shop, "GET", "webhooks");
    shop.status(answer, 200);
    shop.header(answer, "ETag", null);
  }),
  both("The limits and addresses are the same", "a URL on the server's own machine gets a 400", async (shop) => {
    shop.problem(await manage(shop, "POST", "webhooks", { body: { URL: "https://127.0.0.1/conformance" } }), 400);
  }),
];

function manage(shop: Shop, method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  const key = shop.need("webhookKey");
  return untilAllowed(() => shop.call(method, path, { ...options, key }));
}

/** No name below `.invalid` ever has an address (RFC 6761), so nobody receives what the webhook sends. */
function urlOf({ mark }: Shop): string {
  return `https://${mark}invalid/hooks`;
}

async function createWebhook(shop: Shop) {
  const answer = await manage(shop, "POST", "webhooks", { body: { URL: urlOf(shop) } });
  shop.status(answer, 201);
  const webhook = shop.record(answer, "webhooks");
  return { answer, webhook, id: webhook.ID as number };
}

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
