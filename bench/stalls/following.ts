// Stalls caused by clients and webhooks that follow the large site.

import { startWaiters } from "../feed/waiters.ts";
import { change } from "./requests.ts";
import type { Stall } from "./scenarios.ts";
import { ask, operate, type Target } from "./target.ts";

const waiting = 1000;
const webhooks = 20;

export const followerStalls: readonly Stall[] = [
  { name: "feed: pages of 1,000 from the start", work: feed("limit=1000") },
  { name: "feed: collapsed, gzip", work: feed("limit=1000&collapse=1", "gzip") },
  { name: "feed: empty pages", work: feed("resource=orderstatuses") },
  {
    name: "feed: XML, 8 clients at once",
    work: (target) => Promise.all(Array.from({ length: 8 }, () => feedXml(target))),
  },
  { name: "feed: 1,000 clients waiting, 5 changes", work: (target) => wakes(target, waiting) },
  { name: "20 webhooks, 2 s, from the first change", before: addWebhooks, work: deliveries },
];

function feed(query: string, coding = "identity") {
  return (target: Target) => readFeed(target, "json", query, coding);
}

function feedXml(target: Target) {
  return readFeed(target, "xml", "limit=1000", "identity");
}

async function readFeed(target: Target, format: string, query: string, coding: string) {
  let since = "0.0";
  for (let pages = 0; pages < 100; pages++) {
    const headers = { "Accept-Encoding": coding };
    const response = await ask(target, `/restapi/changes.${format}?since=${since}&${query}`, { headers });
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status} ${text.slice(0, 200)}`);
    const next = /Next(?:":"|>)([^"<]+)/.exec(text)?.[1];
    if (!next || next === since) return;
    since = next;
  }
}

/** Makes five changes to the large site while `count` clients wait for them. */
export async function wakes(target: Target, count: number) {
  const waiters = await startWaiters(target.url, "large.test", count, [target.keys.large as string]);
  try {
    await waiters.during(async () => {
      for (let id = 1; id <= 5; id++) {
        await change(target, id, `Changed ${id}`);
        await Bun.sleep(300);
      }
    }, 0);
  } finally {
    await waiters.stop();
  }
}

/** Adds webhooks to the large site. They start to deliver a moment later. */
async function addWebhooks(target: Target) {
  const receiver = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  receiver.unref();
  const url = `http://127.0.0.1:${receiver.port}/`;
  const add = () => target.command("webhook", "add", "--site", "large", url, "--since", "0.0");
  await Promise.all(Array.from({ length: webhooks }, add));
}

async function deliveries(target: Target) {
  await Bun.sleep(2000);
  const { webhooks: added } = await operate(target, "GET", "/sites/large/webhooks");
  const { brands } = target;
  if (added.every(({ behind }: { behind: number }) => behind >= brands)) throw new Error("nothing was delivered");
}
