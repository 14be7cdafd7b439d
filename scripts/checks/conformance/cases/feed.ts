// Contract section 10: the feed.

import { sendBatch } from "../batches.ts";
import { casesOf } from "../case.ts";
import { recordOf, type ShopRecord } from "../records.ts";
import type { Answer } from "../requests.ts";
import type { CallOptions, Shop } from "../shop.ts";
import { readXml } from "../xml.ts";

const { both } = casesOf(10);
const since = "`since` | a cursor";
const form = "Text that isn't a cursor";
const gone = "A cursor that can't be continued";
const ordered = "Changes are complete, in order";

interface Change {
  readonly [name: string]: unknown;
  readonly Cursor: string;
  readonly Revision: number;
  readonly Time: string;
  readonly Operation: string;
  readonly Resource: string;
  readonly ID: number;
  readonly ETag: string | null;
  readonly Record: ShopRecord | null;
}

interface Page {
  readonly answer: Answer;
  readonly Changes: readonly Change[];
  readonly Next: string;
  readonly More: boolean;
}

export const feedCases = [
  both("The path has no version.", "a path with a version gets a 404", async (shop) => {
    shop.status(await shop.call("GET", `/restapi/v1/brands.${shop.format}`), 404);
  }),
  both(
    "Every change to a record is one entry",
    "create, update and delete each add one change; an update without effect adds none",
    async (shop) => {
      const { start, ids } = await threeChanges(shop);
      const { answer, Changes } = await read(shop, `since=${start}`);
      const own = Changes.filter(({ ID, Resource }) => Resource === "orderstatuses" && ids.includes(ID));
      shop.same(
        answer,
        "the operations",
        own.map(({ Operation }) => Operation),
        ["create", "update", "delete"],
      );
    },
  ),
  both("Every change to a record is one entry", "times never go backwards", async (shop) => {
    const { start } = await threeChanges(shop);
    const { answer, Changes } = await read(shop, `since=${start}`);
    const times = Changes.map(({ Time }) => Time);
    for (const time of times)
      shop.holds(answer, `a time in UTC, not ${time}`, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time));
    shop.same(answer, "the times", times, [...times].sort());
  }),
  both(
    "Every change to a record is one entry",
    "a change says what the write did; a delete has no record",
    async (shop) => {
      const start = (await read(shop, "since=now")).Next;
      const { id, record } = await shop.create("brands", { Address: { Town: "Leeds" } });
      shop.status(await shop.call("DELETE", `brands/${id}`), 200);
      const { answer, Changes } = await read(shop, `since=${start}&resource=brands`);
      const own = Changes.filter(({ ID }) => ID === id).map(({ Operation, Resource, ID, Record }) => [
        Operation,
        Resource,
        ID,
        Record,
      ]);
      shop.same(answer, "the changes", own, [
        ["create", "brands", id, record],
        ["delete", "brands", id, null],
      ]);
    },
  ),
  both("`GET /restapi/changes.json`", "a page has the documented members, even with a read-only key", async (shop) => {
    const { key } = { key: shop.target.extras.readKey ?? shop.target.key };
    await shop.create();
    const { answer } = await read(shop, "limit=1", { key });
    if (shop.format === "xml") {
      const { name, attributes, children } = readXml(answer.text);
      shop.same(answer, "the root", [name, Object.keys(attributes)], ["Changes", ["Next", "More"]]);
      const names = Object.keys(children[0]?.attributes ?? {}).filter((one) => one !== "ETag");
      shop.same(answer, "the attributes", names, ["Cursor", "Revision", "Time", "Operation", "Resource", "ID"]);
    } else {
      const page = JSON.parse(answer.text);
      shop.same(answer, "the members", Object.keys(page), ["Changes", "Next", "More"]);
      const names = ["Cursor", "Revision", "Time", "Operation", "Resource", "ID", "ETag", "Record"];
      shop.same(answer, "the members of a change", Object.keys(page.Changes[0]), names);
    }
  }),
  both(since, "since=now returns an empty page and a cursor to follow", async (shop) => {
    const now = await read(shop, "since=now");
    shop.same(now.answer, "changes and More", [now.Changes, now.More], [[], false]);
    const { id } = await shop.create();
    const { answer, Changes } = await read(shop, `since=${now.Next}`);
    shop.holds(
      answer,
      `the change of ${id}`,
      Changes.some((change) => change.ID === id && change.Operation === "create"),
    );
  }),
  both("`limit` | 1 to 1000", "limit counts changes before collapse drops any", async (shop) => {
    const { start } = await threeChanges(shop);
    const page = await read(shop, `since=${start}&limit=2&resource=orderstatuses`);
    shop.same(page.answer, "the number of changes, and More", [page.Changes.length, page.More], [2, true]);
    const collapsed = await read(shop, `since=${start}&limit=2&resource=orderstatuses&collapse=1`);
    shop.same(collapsed.answer, "Next", collapsed.Next, page.Next);
    for (const limit of ["0", "1001", "x", ""]) shop.problem(await shop.call("GET", `changes?limit=${limit}`), 400);
    shop.status(await shop.call("GET", "changes?since=now&limit=1000"), 200);
  }),
  both("`wait` | 0 to 55 seconds", "the response waits for the next matching change", async (shop) => {
    const { Next } = await read(shop, "since=now");
    const waiting = read(shop, `since=${Next}&wait=20&resource=brands`, { isFresh: true });
    await shop.create("orderstatuses");
    const { id } = await shop.create("brands");
    const { answer, Changes } = await waiting;
    shop.same(answer, "the resources", [...new Set(Changes.map(({ Resource }) => Resource))], ["brands"]);
    shop.holds(
      answer,
      `the change of ${id}`,
      Changes.some(({ ID }) => ID === id),
    );
    shop.status(await shop.call("GET", "changes?since=now&wait=0"), 200);
    for (const wait of ["56", "-1", "x", ""])
      shop.problem(await shop.call("GET", `changes?since=now&wait=${wait}`), 400);
  }),
  both("`resource` | a resource's path", "resource can be a list separated by commas, or repeated", async (shop) => {
    const start = (await read(shop, "since=now")).Next;
    await shop.create("orderstatuses");
    await shop.create("brands");
    const resources = async (query: string) =>
      [...new Set((await read(shop, `since=${start}&${query}`)).Changes.map(({ Resource }) => Resource))].sort();
    const { answer } = await read(shop, `since=${start}`);
    const all = ["brands", "orderstatuses"];
    shop.same(answer, "the resources", await resources("resource=brands"), ["brands"]);
    shop.same(answer, "the resources", await resources("resource=brands,orderstatuses"), all);
    shop.same(answer, "the resources", await resources("resource=brands&resource=orderstatuses"), all);
    for (const bad of ["other", "", "Brand"]) shop.problem(await shop.call("GET", `changes?resource=${bad}`), 400);
  }),
  both("`collapse` | `1`", "collapse keeps a record's last change on the page", async (shop) => {
    const start = (await read(shop, "since=now")).Next;
    const { id } = await shop.create();
    shop.status(await shop.call("PUT", `orderstatuses/${id}`, { body: { Name: `${shop.mark}b` } }), 200);
    const { answer, Changes } = await read(shop, `since=${start}&collapse=1`);
    const own = Changes.filter(({ ID, Resource }) => ID === id && Resource === "orderstatuses");
    shop.same(
      answer,
      "names and operations",
      own.map(({ Operation, Record }) => [Operation, Record?.Name]),
      [["update", `${shop.mark}b`]],
    );
  }),
  both(ordered, "small pages have every change once, in order", async (shop) => {
    const { start } = await threeChanges(shop);
    const whole = await read(shop, `since=${start}&limit=1000`);
    const cursors: string[] = [];
    for (let cursor = start, More = true; More && cursors.length < whole.Changes.length; ) {
      const page = await read(shop, `since=${cursor}&limit=1`);
      cursors.push(...page.Changes.map(({ Cursor }) => Cursor));
      ({ Next: cursor, More } = page);
    }
    shop.same(
      whole.answer,
      "the cursors",
      cursors,
      whole.Changes.map(({ Cursor }) => Cursor),
    );
  }),
  both(ordered, "changes applied in order yield the records in the list", async (shop) => {
    const { start, ids } = await threeChanges(shop);
    const kept = await shop.create();
    const copy = new Map<number, unknown>();
    for (const { ID, Operation, Record } of (await read(shop, `since=${start}&resource=orderstatuses&limit=1000`))
      .Changes) {
      if (Operation === "delete") copy.delete(ID);
      else copy.set(ID, Record);
    }
    const list = await shop.call("GET", `orderstatuses?filter[ID][in]=${[...ids, kept.id]}`);
    const own = [...copy].filter(([id]) => [...ids, kept.id].includes(id)).map(([, record]) => record);
    shop.same(list, "the list", shop.list(list), own);
  }),
  both("`Revision` is an integer", "Revision is at least 1, and increases with every change", async (shop) => {
    const { start } = await threeChanges(shop);
    const { answer, Changes } = await read(shop, `since=${start}`);
    const revisions = Changes.map(({ Revision }) => Revision);
    shop.holds(
      answer,
      `integers from 1, not ${revisions}`,
      revisions.every((one) => Number.isSafeInteger(one) && one >= 1),
    );
    shop.same(
      answer,
      "the revisions",
      revisions,
      [...new Set(revisions)].sort((a, b) => a - b),
    );
  }),
  both(
    "`ETag` is what a look-up",
    "a change's ETag matches a look-up and works as If-Match; a delete has none",
    async (shop) => {
      const start = (await read(shop, "since=now")).Next;
      const { id, etag } = await shop.create();
      const created = (await read(shop, `since=${start}`)).Changes.find(({ ID }) => ID === id);
      const lookUp = await shop.call("GET", `orderstatuses/${id}`);
      shop.same(lookUp, "the ETag of the change", created?.ETag, etag);
      shop.header(lookUp, "ETag", etag);
      const headers = { "If-Match": created?.ETag ?? "" };
      shop.status(await shop.call("DELETE", `orderstatuses/${id}`, { headers }), 200);
      const page = await read(shop, `since=${start}`);
      const deleted = page.Changes.find(({ ID, Operation }) => ID === id && Operation === "delete");
      shop.same(page.answer, "the ETag of the delete", deleted?.ETag, null);
    },
  ),
  both("`collapse` drops earlier changes", "a collapsed change has the last one's Revision and ETag", async (shop) => {
    const { start, ids } = await threeChanges(shop, false);
    const [all, collapsed] = [await read(shop, `since=${start}`), await read(shop, `since=${start}&collapse=1`)];
    const own = (page: Page) =>
      page.Changes.filter(({ ID, Resource }) => Resource === "orderstatuses" && ids.includes(ID));
    const last = own(all).at(-1);
    const expected = [[last?.Revision, last?.ETag, last?.Cursor]];
    shop.same(
      collapsed.answer,
      "Revision, ETag, Cursor",
      own(collapsed).map((one) => [one.Revision, one.ETag, one.Cursor]),
      expected,
    );
  }),
  both("`More: false` means", "a page has every change confirmed before the request", async (shop) => {
    let cursor = (await read(shop, "since=now")).Next;
    for (let i = 0; i < 5; i++) {
      const { id } = await shop.create();
      const { answer, Changes, Next, More } = await read(shop, `since=${cursor}&limit=1000`, { isFresh: true });
      shop.same(answer, "More", More, false);
      shop.holds(
        answer,
        `the change of ${id}`,
        Changes.some(({ ID }) => ID === id),
      );
      cursor = Next;
    }
  }),
  both("`Next` is always there", "Next moves past changes that don't match", async (shop) => {
    const { Next: start } = await read(shop, "since=now");
    await shop.create("orderstatuses");
    const { answer, Changes, Next } = await read(shop, `since=${start}&resource=locations`);
    shop.same(answer, "changes of locations", Changes, []);
    shop.holds(answer, "another Next than `since`", Next !== start && Next !== "");
  }),
  both(
    "A cursor has the form `<digest>.<revision>`",
    "cursors have the documented form, and are the same in both formats",
    async (shop) => {
      const { Next: start } = await read(shop, "since=now");
      await shop.create();
      const { answer, Changes } = await read(shop, `since=${start}`);
      for (const { Cursor, Revision } of Changes)
        shop.holds(
          answer,
          `a cursor <digest>.${Revision}, not ${Cursor}`,
          /^[^.\s:]+\.\d+$/.test(Cursor) && Cursor.endsWith(`.${Revision}`),
        );
      const format = shop.format === "json" ? "xml" : "json";
      const other = await read(shop, `since=${start}`, { format });
      shop.same(
        other.answer,
        "the cursors",
        other.Changes.map(({ Cursor }) => Cursor),
        Changes.map(({ Cursor }) => Cursor),
      );
    },
  ),
  both("A cursor has the form `<digest>.<revision>`", "0.0 means before the first change", async (shop) => {
    const [absent, zero] = [
      await shop.call("GET", "changes?limit=2"),
      await shop.call("GET", "changes?limit=2&since=0.0"),
    ];
    shop.status(absent, 200, 410);
    shop.same(zero, "the status without since", zero.status, absent.status);
    if (absent.status === 200) shop.same(zero, "the page without since", zero.text, absent.text);
  }),
  both(gone, "the problem says how to start over", async (shop) => {
    shop.problem(await shop.call("GET", "changes?since=000000000000.1"), 410, /since=now/);
  }),
  both("A cursor that can't be continued", "a cursor ahead of the feed gets a 410", async (shop) => {
    const { Next } = await read(shop, "since=now");
    const ahead = `${Next.split(".")[0]}.${2 ** 50}`;
    shop.problem(await shop.call("GET", `changes?since=${ahead}`), 410, /gone/);
  }),
  both("A cursor that can't be continued", "a cursor with another change's digest gets a 410", async (shop) => {
    await shop.create();
    const { Next } = await read(shop, "since=now");
    shop.problem(await shop.call("GET", `changes?since=000000000000.${Next.split(".")[1]}`), 410, /gone/);
  }),
  both(form, "anything that isn't a cursor gets a 400", async (shop) => {
    for (const cursor of ["", "null", "2026-11-21T20:15:00Z", "1", ".1", "a.", "a.b", "a b.1", "a.1.2"])
      shop.problem(await shop.call("GET", `changes?since=${encodeURIComponent(cursor)}`), 400);
  }),
  both("`Run` is only present", "changes from one batch share a Run; others have none", async (shop) => {
    const { Next: start } = await read(shop, "since=now");
    const create = { Method: "POST", Resource: "orderstatuses", Record: { Name: shop.mark } };
    const { run } = await sendBatch(shop, [create, create]);
    await shop.create();
    const { answer, Changes } = await read(shop, `since=${start}`);
    const own = Changes.filter(({ Record }) => String(Record?.Name).startsWith(shop.mark));
    shop.same(
      answer,
      "the runs",
      own.map((one) => one.Run ?? null),
      [run, run, null],
    );
  }),
  both(
    "The feed doesn't say who made a change.",
    "there's no ETag; list parameters get a 400, and other methods a 405",
    async (shop) => {
      shop.header((await read(shop, "since=now")).answer, "ETag", null);
      for (const parameter of [
        "filter[Name]=x",
        "sort=Name",
        "fields=Name",
        "offset=1",
        "cursor=a.1",
        "Since=now",
        "page=1",
      ])
        shop.problem(await shop.call("GET", `changes?since=now&${parameter}`), 400);
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        const answer = await shop.call(method, "changes");
        shop.status(answer, 405);
        shop.header(answer, "Allow", /\bGET\b/);
      }
      const before = Date.now();
      const head = await shop.call("HEAD", "changes?since=now&wait=9");
      shop.status(head, 200);
      shop.holds(head, "a response to HEAD without waiting", Date.now() - before < 8_000);
    },
  ),
];

/** Creates an order status, updates it twice with the same value, and deletes it. Returns the cursor from before, and the ID. */
async function threeChanges(shop: Shop, withDelete = true): Promise<{ start: string; ids: number[] }> {
  const { Next: start } = await read(shop, "since=now");
  const { id } = await shop.create();
  for (let i = 0; i < 2; i++)
    shop.status(await shop.call("PUT", `orderstatuses/${id}`, { body: { Name: `${shop.mark}b` } }), 200);
  if (withDelete) shop.status(await shop.call("DELETE", `orderstatuses/${id}`), 200);
  return { start, ids: [id] };
}

async function read(shop: Shop, query: string, options: CallOptions = {}): Promise<Page> {
  const answer = await shop.call("GET", `changes?${query}`, options);
  shop.status(answer, 200);
  if ((options.format ?? shop.format) === "json") return { answer, ...JSON.parse(answer.text) };
  const { name, attributes, children } = readXml(answer.text);
  shop.same(answer, "the root", name, "Changes");
  const Changes = children.map(({ attributes: { Revision, ID, ETag = null, ...rest }, children: [record] }) => ({
    ...rest,
    Revision: Number(Revision),
    ID: Number(ID),
    ETag,
    Record: record ? recordOf(rest.Resource ?? "", record) : null,
  })) as unknown as Change[];
  return { answer, Changes, Next: attributes.Next ?? "", More: attributes.More === "true" };
}
