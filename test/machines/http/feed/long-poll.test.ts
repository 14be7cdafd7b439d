// Long polls without a server, with changes and ends at the moments when a bug would lose them.

import { describe, expect, test } from "bun:test";
import { FollowerRounds } from "../../../../src/http/feed/follower-rounds.ts";
import { LongPolls } from "../../../../src/http/feed/long-poll.ts";
import type { AuthorizedView, RequestContext } from "../../../../src/http/request-context.ts";
import { nextImmediate } from "../../../../src/lib/yielding.ts";
import { OutdatedError } from "../../../../src/model/errors.ts";
import type { Head } from "../../../../src/model/head.ts";
import { systemSite } from "../../../../src/model/system-site.ts";
import { waitUntil } from "../../../support/time.ts";

const clients = 200;
const head = { revision: 1, epoch: "e" };

const key = { id: 1, prefix: "sfk_x" } as Parameters<LongPolls["waitForContent"]>[1]["key"];

test("long polls: when many clients leave at once, a few end per tick, with their subscriptions", async () => {
  let ended = 0;
  let watching = 0;
  const subscribe = () => {
    watching++;
    return () => void watching--;
  };
  const polls = new LongPolls(2 * clients, {
    changeNotifier: { subscribe },
    authorizer: {
      reauthorizeInMemory: () => void ended++,
      reauthorize: () => Promise.reject(new Error("nothing has changed")),
    },
  });
  const goAway: (() => void)[] = [];
  const request = { onClientEnd: (callback: () => void) => void goAway.push(callback), discardBody: () => {} };
  const options = {
    key,
    waitMs: 60_000,
    first: { siteId: 1, head, system: head, hasContent: false },
    read: () => Promise.reject(new Error("nothing has changed")),
  };
  const waiting = Array.from({ length: clients }, () =>
    polls.waitForContent({ request, longPollMs: 0 } as unknown as RequestContext, options),
  );
  // Each poll subscribes to its site and to the system site.
  expect([polls.size, watching]).toEqual([clients, 2 * clients]);
  for (const leave of goAway) leave();
  let most = ended;
  for (let before = ended; ended < clients; before = ended) {
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, ended - before);
  }
  await Promise.all(waiting);
  expect([polls.size, watching, most < clients / 5]).toEqual([0, 0, true]);
});

test("long poll: change while an empty page is being read", async () => {
  const subscriptions: { readonly from: Head; readonly onChange: (head: Head) => unknown }[] = [];
  const changeNotifier = {
    subscribe: (site: number, from: Head, onChange: (head: Head) => unknown) => {
      if (site !== systemSite) subscriptions.push({ from, onChange });
      return () => {};
    },
  };
  const authorizer = {
    reauthorizeInMemory: () => {},
    reauthorize: () => Promise.reject(new Error("the site has changed")),
  };
  const rounds = new FollowerRounds({ subscribe: () => () => {} });
  const polls = new LongPolls(2, { changeNotifier, authorizer }, rounds);
  const first = { siteId: 1, head, system: head, hasContent: false };
  const reads: { readonly head: Head; readonly end: (hasContent: boolean) => void }[] = [];
  const read = (_: unknown, to: Head) =>
    new Promise<typeof first>((resolve) => {
      reads.push({ head: to, end: (hasContent) => resolve({ ...first, head: to, hasContent }) });
    });
  const request = { onClientEnd: () => {}, discardBody: () => {} };
  const exchange = { request, longPollMs: 0 } as unknown as RequestContext;
  const ended = polls.waitForContent(exchange, { key, waitMs: 60_000, first, read });
  subscriptions[0]?.onChange({ ...head, revision: 2 });
  await waitUntil(() => reads.length === 1, "the first read");
  reads[0]?.end(false);
  await waitUntil(() => subscriptions.length === 2, "the second subscription");
  // The notifier calls it at once if the site has another head by now.
  expect([reads[0]?.head.revision, subscriptions[1]?.from.revision]).toEqual([2, 2]);
  subscriptions[1]?.onChange({ ...head, revision: 3 });
  await waitUntil(() => reads.length === 2, "the second read");
  reads[1]?.end(true);
  expect((await ended).head.revision).toBe(3);
});

test.each([
  ["ends if host and key select another site after a change of the system site, as when a sandbox is renewed", 2, true],
  ["continues after a change of the system site that does not affect it", 1, false],
])("a long poll %s", async (_, selected, isOutdated) => {
  const changes: (() => unknown)[] = [];
  const polls = new LongPolls(2, {
    changeNotifier: {
      subscribe: (site, _, onChange) => {
        if (site === systemSite) changes.push(() => onChange(head));
        return () => {};
      },
    },
    authorizer: {
      reauthorizeInMemory: () => {},
      reauthorize: async (_, use) => use({ siteView: { siteId: selected } } as unknown as AuthorizedView),
    },
  });
  const first = { siteId: 1, head, system: head, hasContent: false };
  const read = () => Promise.reject(new Error("the head of its site is the same"));
  const leave: (() => void)[] = [];
  const request = { onClientEnd: (callback: () => void) => void leave.push(callback), discardBody: () => {} };
  const context = { request, longPollMs: 0 } as unknown as RequestContext;
  const ended = polls.waitForContent(context, { key, waitMs: 60_000, first, read }).catch((error) => error);
  changes[0]?.();
  await nextImmediate();
  expect(polls.size).toBe(isOutdated ? 0 : 1);
  leave[0]?.();
  expect(await ended).toEqual(isOutdated ? new OutdatedError("key") : first);
});

test("long poll: its wait is counted, because it doesn't make a request slow", async () => {
  const polls = new LongPolls(2, {
    changeNotifier: { subscribe: () => () => {} },
    authorizer: { reauthorizeInMemory: () => {}, reauthorize: () => Promise.reject(new Error("nothing has changed")) },
  });
  const context = { request: { onClientEnd: () => {}, discardBody: () => {} }, longPollMs: 1000 };
  const first = { siteId: 1, head, system: head, hasContent: false };
  const read = () => Promise.reject(new Error("nothing has changed"));
  const started = performance.now();
  await polls.waitForContent(context as unknown as RequestContext, { key, waitMs: 20, first, read });
  const elapsedMs = performance.now() - started;
  expect(context.longPollMs).toBeGreaterThan(1000);
  expect(context.longPollMs).toBeLessThanOrEqual(1000 + elapsedMs);
});

test("long poll: returns what it has when the server stops", async () => {
  const polls = new LongPolls(2, {
    changeNotifier: { subscribe: () => () => {} },
    authorizer: { reauthorizeInMemory: () => {}, reauthorize: () => Promise.reject(new Error("nothing has changed")) },
  });
  polls.stop();
  const context = { request: { onClientEnd: () => {}, discardBody: () => {} }, longPollMs: 0 };
  const first = { siteId: 1, head, system: head, hasContent: false };
  const read = () => Promise.reject(new Error("nothing has changed"));
  const ended = polls.waitForContent(context as unknown as RequestContext, { key, waitMs: 60_000, first, read });
  expect([polls.size, await ended]).toEqual([0, first]);
});

describe("a long poll that waits for a round before its first read", () => {
  const unread = { siteId: 1, head: { revision: 0, epoch: "" }, system: head, hasContent: false };
  const page = { siteId: 1, head, system: head, hasContent: true };

  function start(read: () => Promise<typeof page>, waitMs = 60_000) {
    const round: ((head: Head) => unknown)[] = [];
    const subscribed: number[] = [];
    const leave: (() => void)[] = [];
    const polls = new LongPolls(
      2,
      {
        changeNotifier: {
          subscribe: (site) => {
            subscribed.push(site);
            return () => {};
          },
        },
        authorizer: { reauthorizeInMemory: () => {}, reauthorize: () => Promise.reject(new Error("nothing changed")) },
      },
      {
        hasRounds: () => true,
        add: (_, __, follower) => {
          round.push(follower);
          return () => void round.splice(round.indexOf(follower), 1);
        },
        run: (_, __, work) => work(),
      },
    );
    const request = { onClientEnd: (callback: () => void) => void leave.push(callback), discardBody: () => {} };
    const context = { request, longPollMs: 0 } as unknown as RequestContext;
    const ended = polls.waitForContent(context, { key, waitMs, first: unread, unreadHead: head, read });
    return { polls, round, subscribed, leave, ended };
  }

  test("reads in the round, and subscribes only then", async () => {
    const { round, subscribed, ended } = start(async () => page);
    expect([round.length, subscribed]).toEqual([1, [systemSite]]);
    await round[0]?.(head);
    expect(await ended).toBe(page);
  });

  test("waits for the next change if its first page is empty", async () => {
    const { round, subscribed, polls } = start(async () => ({ ...page, hasContent: false }));
    await round[0]?.(head);
    expect([polls.size, subscribed]).toEqual([1, [systemSite, 1]]);
  });

  test.each(["its time is over", "its client leaves", "the server stops"])("reads and ends when %s", async (event) => {
    let reads = 0;
    const read = async () => {
      reads++;
      return { ...page, hasContent: false };
    };
    const { round, leave, ended, polls } = start(read, event === "its time is over" ? 1 : 60_000);
    if (event === "its client leaves") leave[0]?.();
    if (event === "the server stops") polls.stop();
    expect((await ended).head).toEqual(head);
    expect([reads, round.length, polls.size]).toEqual([1, 0, 0]);
  });
});
