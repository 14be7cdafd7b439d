// Contract section 14: batch requests and undo.

import { callBatch, callUndo, type Operation, sendBatch, undo, writeBatch } from "../batches.ts";
import { casesOf } from "../case.ts";
import type { ShopRecord } from "../records.ts";
import type { Shop } from "../shop.ts";

const { both, once } = casesOf(14);

const create = (shop: Shop, name = "", fields: ShopRecord = {}, Resource = "orderstatuses"): Operation => ({
  Method: "POST",
  Resource,
  Record: { Name: shop.mark + name, ...fields },
});
const change = (shop: Shop, ID: number, name: string): Operation => ({
  Method: "PUT",
  Resource: "orderstatuses",
  ID,
  Record: { Name: shop.mark + name },
});
const statusesOf = (results: readonly { readonly status: number }[]) => results.map(({ status }) => status);

export const batchCases = [
  both(
    "`POST /restapi/batch.json`",
    "one batch creates, updates and deletes records in several resources",
    async (shop) => {
      const { id, record } = await shop.create();
      const { answer, run, results } = await sendBatch(shop, [
        create(shop, "a", { AccountNumber: "1" }, "brands"),
        change(shop, id, "b"),
        { Method: "DELETE", Resource: "orderstatuses", ID: id },
      ]);
      shop.same(answer, "the statuses", statusesOf(results), [201, 200, 200]);
      shop.same(answer, "the deleted record", results[2]?.record, { ...record, Name: `${shop.mark}b` });
      shop.holds(answer, "a run", typeof run === "string" && run.length > 0);
      const [created] = await shop.own("brands");
      shop.same(answer, "the created record", results[0]?.record, created);
      shop.same(answer, "the order statuses", await shop.own(), []);
    },
  ),
  both("`Method` is POST", "PATCH works like PUT; any other method or resource gets a 400", async (shop) => {
    const { id } = await shop.create();
    const { answer, results } = await sendBatch(shop, [{ ...change(shop, id, "b"), Method: "PATCH" }]);
    shop.same(answer, "the name", results[0]?.record?.Name, `${shop.mark}b`);
    for (const fault of [{ Method: "GET" }, { Method: "put" }, { Resource: "locations" }, { Resource: "Brands" }])
      shop.problem(await callBatch(shop, [{ ...change(shop, id, "c"), ...fault }], "atomic=0"), 400);
    shop.same(answer, "the name", (await shop.own())[0]?.Name, `${shop.mark}b`);
  }),
  once("In XML, the record", "two records in an operation, or an unexpected element, get a 400", async (shop) => {
    const record = `<OrderStatus><Name>${shop.mark}</Name></OrderStatus>`;
    for (const content of [record + record, "<Brand><Name>x</Name></Brand>", `<Record>${record}</Record>`]) {
      const body = `<Batch><Operation Method="POST" Resource="orderstatuses">${content}</Operation></Batch>`;
      shop.problem(await shop.call("POST", "batch", { format: "xml", body }), 400);
    }
  }),
  both("`ID` in the operation and", "conflicting IDs get a 400, and an outdated IfMatch a 412", async (shop) => {
    const { id, etag } = await shop.create();
    const both = { ...change(shop, id, "b"), Record: { ID: id + 1, Name: `${shop.mark}b` } };
    shop.problem(await callBatch(shop, [both]), 400, /ambiguous-id/);
    const { answer } = await sendBatch(shop, [{ ...change(shop, id, "c"), IfMatch: etag }]);
    shop.problem(await callBatch(shop, [{ ...change(shop, id, "d"), IfMatch: etag }]), 412, /precondition-failed/);
    shop.problem(await callBatch(shop, [{ ...change(shop, id, "d"), IfMatch: "x" }]), 400);
    shop.same(answer, "the name", (await shop.own())[0]?.Name, `${shop.mark}c`);
  }),
  both("A batch is one transaction.", "each operation sees the effects of earlier ones", async (shop) => {
    const { id, etag } = await shop.create();
    const { answer, results } = await sendBatch(shop, [
      { ...change(shop, id, "b"), IfMatch: etag },
      change(shop, id, "b"),
      { Method: "DELETE", Resource: "orderstatuses", ID: id },
    ]);
    shop.same(
      answer,
      "what has changed",
      results.map(({ changed }) => changed),
      [true, false, true],
    );
    const again = { ...change(shop, id, "c"), IfMatch: results[0]?.etag ?? "" };
    shop.problem(await callBatch(shop, [again]), 404);
  }),
  both("An operation can't refer", "the ID of a record created earlier in the batch gets a 404", async (shop) => {
    const { id } = await shop.create();
    const { answer, results } = await sendBatch(shop, [create(shop, "b")], "dryRun=1");
    const next = Math.max(id + 1, Number(results[0]?.record?.ID));
    shop.problem(await callBatch(shop, [create(shop, "b"), change(shop, next, "c")]), 404, /not-found/);
    shop.same(answer, "the order statuses", (await shop.own()).length, 1);
  }),
  both("Methods other than POST and OPTIONS", "a read-only key gets a 403, and GET a 405", async (shop) => {
    shop.problem(await shop.call("GET", "batch"), 405, /method-not-allowed/);
    const options = await shop.call("OPTIONS", "batch", { key: null });
    shop.status(options, 204);
    shop.header(options, "Allow", /^(?=.*\bPOST\b)(?!.*\bGET\b)/);
    shop.problem(await callBatch(shop, [create(shop)], "", { key: shop.need("readKey") }), 403, /\bwrite\b/);
  }),
  both("`match`", "match creates, updates or deletes a record, and reports an ambiguous value", async (shop) => {
    const value = shop.mark.slice(-60);
    const matched = (name: string): Operation => ({
      Method: "PUT",
      Resource: "brands",
      Record: { Name: shop.mark + name, AccountNumber: value },
    });
    const first = await sendBatch(shop, [matched("a")], "match=AccountNumber");
    const second = await sendBatch(shop, [matched("b")], "match=AccountNumber");
    shop.same(second.answer, "the statuses", statusesOf([...first.results, ...second.results]), [201, 200]);
    shop.same(second.answer, "the ID", second.results[0]?.record?.ID, first.results[0]?.record?.ID);
    await shop.create("brands", { AccountNumber: value });
    shop.problem(await callBatch(shop, [matched("c")], "match=AccountNumber"), 400, /invalid-record/);
    const other = { ...matched("d"), Record: { Name: shop.mark, AccountNumber: `${value.slice(1)}d` } };
    const removed = { ...other, Method: "DELETE" };
    await sendBatch(shop, [other], "match=AccountNumber");
    const { answer, results } = await sendBatch(shop, [removed, removed], "match=AccountNumber&atomic=0");
    shop.same(answer, "the statuses of the deletes", statusesOf(results), [200, 404]);
    shop.problem(await callBatch(shop, [matched("c")], "match=Account"), 400);
  }),
  both("`dryRun`", "a dry run returns what would happen, and stores nothing", async (shop) => {
    const { id } = await shop.create();
    const look = await sendBatch(shop, [create(shop, "b"), change(shop, id, "c")], "dryRun=1");
    shop.same(look.answer, "the statuses", statusesOf(look.results), [201, 200]);
    shop.same(look.answer, "the run", look.run, null);
    shop.same(look.answer, "the order statuses", (await shop.own()).length, 1);
  }),
  both("`atomic`", "atomic=0 stores the operations that succeed", async (shop) => {
    const { answer, results } = await sendBatch(shop, [create(shop, "a"), change(shop, 0x7fffffff, "b")], "atomic=0");
    shop.same(answer, "the statuses", statusesOf(results), [201, 404]);
    shop.same(answer, "the order statuses", (await shop.own()).length, 1);
  }),
  both(
    "Unknown or repeated parameters",
    "an unknown or repeated parameter, If-Match or If-None-Match gets a 400",
    async (shop) => {
      for (const query of ["dryrun=1", "dryRun=true", "dryRun=1&dryRun=1", "x=1"])
        shop.problem(await callBatch(shop, [create(shop)], query), 400);
      for (const name of ["If-Match", "If-None-Match"])
        shop.problem(await callBatch(shop, [create(shop)], "", { headers: { [name]: '"x"' } }), 400);
      shop.same(await shop.call("GET", "orderstatuses?limit=1"), "the order statuses", await shop.own(), []);
    },
  ),
  both("The response is a 200, with one result", "each operation has a result, in order", async (shop) => {
    const names = ["c", "a", "b"];
    const { answer, results } = await sendBatch(
      shop,
      names.map((name) => create(shop, name)),
    );
    shop.header(answer, "Content-Type", /^application\/(?:json|xml); charset=utf-8$/);
    const found = results.map(({ record }) => String(record?.Name).slice(-1));
    shop.same(answer, "the names", found, names);
  }),
  both("`Status` and `Record` are the same", "the record and its ETag match a look-up", async (shop) => {
    const { answer, results } = await sendBatch(shop, [create(shop, "a")]);
    const read = await shop.call("GET", `orderstatuses/${results[0]?.record?.ID}`);
    shop.same(answer, "the record", results[0]?.record, shop.record(read));
    shop.header(read, "ETag", results[0]?.etag ?? null);
    const { id } = await shop.create();
    const deleted = await sendBatch(shop, [{ Method: "DELETE", Resource: "orderstatuses", ID: id }]);
    shop.same(deleted.answer, "the ETag of a delete", deleted.results[0]?.etag, undefined);
  }),
  both("`Run` names all", "Run is missing if nothing was stored", async (shop) => {
    const { id } = await shop.create();
    const { answer, run, results } = await sendBatch(shop, [{ ...change(shop, id, ""), Record: { Name: shop.mark } }]);
    shop.same(answer, "whether it changed", results[0]?.changed, false);
    shop.same(answer, "the run", run, null);
  }),
  both(
    "By default, if an operation",
    "one failing operation means nothing is stored, and errors gives its number",
    async (shop) => {
      const operations = [create(shop), { ...create(shop), Record: { Name: "" } }, change(shop, 0x7fffffff, "b")];
      const answer = await callBatch(shop, operations);
      shop.problem(answer, 400, /invalid-record/);
      const numbers = [...answer.text.matchAll(/"operation":(\d+)|<operation>(\d+)</g)].map((found) =>
        Number(found[1] ?? found[2]),
      );
      shop.same(answer, "the numbers of operations", numbers, [2, 3]);
      shop.same(answer, "the order statuses", await shop.own(), []);
    },
  ),
  both(
    "With `atomic=0`, such an operation",
    "with atomic=0, a failed operation's result has its problem",
    async (shop) => {
      const { answer, results } = await sendBatch(shop, [{ ...create(shop), Record: { Name: "" } }], "atomic=0");
      shop.same(answer, "the statuses", statusesOf(results), [400]);
      shop.same(answer, "whether it has a problem", results[0]?.hasProblem, true);
    },
  ),
  both("A `match` value gets a 400", "an empty or repeated match value gets a 400", async (shop) => {
    const matched = (AccountNumber: string): Operation => ({
      Method: "PUT",
      Resource: "brands",
      Record: { Name: shop.mark, AccountNumber },
    });
    const value = shop.mark.slice(-60);
    shop.problem(await callBatch(shop, [matched("")], "match=AccountNumber"), 400, /AccountNumber/);
    shop.problem(await callBatch(shop, [matched(value), matched(value)], "match=AccountNumber"), 400);
    shop.same(await shop.call("GET", "brands?limit=1"), "the brands", await shop.own("brands"), []);
  }),
  both("A malformed request gets a 400", "a malformed batch gets a 400, even with atomic=0", async (shop) => {
    const good = writeBatch([create(shop)], shop.format);
    const bad =
      shop.format === "json"
        ? ["{}", "[]", '{"Operations":{}}', good.replace('"Record"', '"Recrod"'), good.slice(0, -1)]
        : ["<Batch>x</Batch>", "<Brand/>", good.replace(" Method=", " Metod="), good.slice(0, -1)];
    for (const body of bad) {
      const answer = await shop.call("POST", "batch?atomic=0", { body });
      shop.problem(answer, 400, /bad-request/);
    }
    shop.same(await shop.call("GET", "orderstatuses?limit=1"), "the order statuses", await shop.own(), []);
  }),
  both(
    "`errors` lists all malformed operations",
    "errors lists every mistake, with its operation number and field",
    async (shop) => {
      const operations: Operation[] = [
        { ...create(shop), Resource: "nothing" },
        create(shop),
        { ...create(shop), Method: "UPSERT", Resource: "locations" },
        { ...create(shop), Record: { Name: "" } },
      ];
      for (const query of ["", "atomic=0"]) {
        const answer = await callBatch(shop, operations, query);
        shop.problem(answer, 400, /bad-request/);
        const found = [
          ...answer.text.matchAll(/"operation":(\d+),"field":"(\w*)|<operation>(\d+)<.operation><field>(\w*)</g),
        ];
        const errors = found.map(([, inJson, field, inXml, element]) => `${inJson ?? inXml} ${field ?? element}`);
        shop.same(answer, "the operations and fields", errors, ["1 Resource", "3 Method", "3 Resource", "4 Name"]);
      }
      shop.same(await shop.call("GET", "orderstatuses?limit=1"), "the order statuses", await shop.own(), []);
    },
  ),
  both("If the body can't be parsed", "a syntax error is the only error, and has its line", async (shop) => {
    const good = writeBatch([{ ...create(shop), Method: "UPSERT" }, create(shop)], shop.format);
    const answer = await shop.call("POST", "batch", { body: good.slice(0, -3) });
    shop.problem(answer, 400, /bad-request/);
    shop.same(answer, "the lines", [...answer.text.matchAll(/"line":|<line>/g)].length, 1);
    shop.holds(answer, "no other error", !/UPSERT/.test(answer.text));
  }),
  both(
    "A batch can have up to 10,000 operations",
    "too many operations or bytes get a 413, but the key is checked first",
    async (shop) => {
      const deletes = Array.from({ length: 10_001 }, () => ({ Method: "DELETE", Resource: "orderstatuses", ID: 1 }));
      shop.problem(await callBatch(shop, deletes), 413, /too-large/);
      const body = " ".repeat((8 << 20) + 1);
      shop.problem(await shop.call("POST", "batch", { body }), 413, /too-large/);
      shop.problem(await shop.call("POST", "batch", { key: null, body: "x" }), 401);
    },
  ),
  once("A batch needs one token", "a batch can put a key into debt, which then gets 429s", async (shop) => {
    const key = shop.need("limitedKey");
    const deletes = Array.from({ length: 600 }, () => ({
      Method: "DELETE",
      Resource: "orderstatuses",
      ID: 0x7fffffff,
    }));
    for (let requests = 0; requests < 1000; requests++) {
      const answer = await callBatch(shop, deletes, "atomic=0&dryRun=1", { key });
      shop.header(answer, "RateLimit", /r=\d+;t=\d+/);
      if (answer.status === 200) continue;
      shop.problem(answer, 429, /too-many-requests/);
      shop.header(answer, "Retry-After", /^[1-9]\d*$/);
      return;
    }
    shop.fail(undefined, "429 for one of 1000 requests");
  }),
  both("An `Idempotency-Key` covers", "a repeated batch gets the first response, byte for byte", async (shop) => {
    const options = { headers: { "Idempotency-Key": `${shop.mark}batch` } };
    const operations = [create(shop, "a"), change(shop, 0x7fffffff, "b")];
    const first = await sendBatch(shop, operations, "atomic=0", options);
    const again = await callBatch(shop, operations, "atomic=0", options);
    shop.header(again, "Idempotency-Replayed", "true");
    const bodyOf = (text: string) => text.replaceAll(/"instance":"[^"]*"|<instance>[^<]*</g, "");
    shop.same(again, "the response", bodyOf(again.text), bodyOf(first.answer.text));
    shop.same(again, "the order statuses", (await shop.own()).length, 1);
    shop.problem(await callBatch(shop, operations, "", options), 422, /idempotency-key-reused/);
  }),
  both("`POST /restapi/undo.json`", "a batch can be undone, and so can the undo", async (shop) => {
    const { id } = await shop.create();
    const { run } = await sendBatch(shop, [create(shop, "b"), change(shop, id, "c")]);
    const undone = await undo(shop, run);
    shop.same(undone.answer, "the counts", undone.counts, [1, 1, 0]);
    shop.same(
      undone.answer,
      "the names",
      (await shop.own()).map(({ Name }) => Name),
      [shop.mark],
    );
    await undo(shop, undone.run);
    shop.same(undone.answer, "the order statuses", (await shop.own()).length, 2);
  }),
  both("Created records are deleted", "undo restores a deleted record with its ID", async (shop) => {
    const { id, record } = await shop.create();
    const { run } = await sendBatch(shop, [{ Method: "DELETE", Resource: "orderstatuses", ID: id }]);
    const { answer } = await undo(shop, run);
    shop.same(answer, "the order statuses", await shop.own(), [record]);
  }),
  both("Records that anyone has changed", "undo skips a record that has changed since, and lists it", async (shop) => {
    const { id } = await shop.create();
    const { run } = await sendBatch(shop, [change(shop, id, "b")]);
    shop.status(await shop.call("PUT", `orderstatuses/${id}`, { body: { Name: `${shop.mark}c` } }), 200);
    const { answer, counts, skipped } = await undo(shop, run);
    shop.same(answer, "the counts and the skipped records", [counts, skipped], [[0, 0, 0], [`orderstatuses ${id}`]]);
    shop.same(answer, "the name", (await shop.own())[0]?.Name, `${shop.mark}c`);
  }),
  both("`dryRun=1` returns what would", "a dry run of an undo stores nothing", async (shop) => {
    const { run } = await sendBatch(shop, [create(shop)]);
    const look = await undo(shop, run, "dryRun=1");
    shop.same(look.answer, "the counts and the run", [look.counts, look.run], [[1, 0, 0], null]);
    shop.same(look.answer, "the order statuses", (await shop.own()).length, 1);
  }),
  both("An unknown run gets a 404", "a run that doesn't exist, or a malformed one, gets a 404", async (shop) => {
    for (const run of ["x", "k3J9aZ0q-999999999-3"]) shop.problem(await callUndo(shop, run), 404, /not-found/);
  }),
  both(
    "If the key is for the live site and the run",
    "the 404 for a run in the sandbox says where it is",
    async (shop) => {
      const key = shop.need("sandboxKey");
      const { run } = await sendBatch(shop, [create(shop)], "", { key });
      shop.problem(await callUndo(shop, run), 404, /sandbox/);
      await undo(shop, run, "", { key });
    },
  ),
];
