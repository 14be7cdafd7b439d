// Contract section 2: naming a record.

import { casesOf } from "../case.ts";

const { both } = casesOf(2);
const promise = "A write identifies its record by";

export const namingCases = [
  both(promise, "an update can give the ID in the path, in the body, or as ?ID=", async (shop) => {
    for (const path of ["brands", "orderstatuses"]) {
      const { id } = await shop.create(path);
      const ways = [
        { at: `${path}/${id}`, ID: {} },
        { at: path, ID: { ID: id } },
        { at: `${path}?ID=${id}`, ID: {} },
        { at: `${path}/${id}?ID=${id}`, ID: { ID: id } },
      ];
      for (const [i, { at, ID }] of ways.entries()) {
        const answer = await shop.call("PUT", at, { body: { ...ID, Name: `${shop.mark} ${i}` } });
        shop.status(answer, 200);
        const { ID: found, Name } = shop.record(answer, path);
        shop.same(answer, "ID and Name", [found, Name], [id, `${shop.mark} ${i}`]);
      }
    }
  }),
  both(promise, "a delete can give the ID in the same ways", async (shop) => {
    const records = await Promise.all([1, 2, 3].map(() => shop.create()));
    const [first = 0, second = 0, third = 0] = records.map(({ id }) => id);
    const answers = [
      await shop.call("DELETE", `orderstatuses/${first}`),
      await shop.call("DELETE", "orderstatuses", { body: { ID: second } }),
      await shop.call("DELETE", `orderstatuses?ID=${third}`),
    ];
    for (const [i, answer] of answers.entries()) {
      shop.status(answer, 200);
      shop.same(answer, "the deleted record", shop.record(answer), records[i]?.record);
      shop.problem(await shop.call("GET", `orderstatuses/${records[i]?.id}`), 404);
    }
  }),
  both(promise, "conflicting IDs get a 400, and nothing changes", async (shop) => {
    const [one, other] = [await shop.create(), await shop.create()];
    const body = { ID: other.id, Name: `${shop.mark} changed` };
    shop.problem(await shop.call("PUT", `orderstatuses/${one.id}`, { body }), 400);
    shop.problem(await shop.call("PUT", `orderstatuses?ID=${one.id}`, { body }), 400);
    shop.problem(await shop.call("DELETE", `orderstatuses/${one.id}?ID=${other.id}`), 400);
    for (const { id, record } of [one, other]) {
      const answer = await shop.call("GET", `orderstatuses/${id}`);
      shop.same(answer, "the record", shop.record(answer), record);
    }
  }),
  both(promise, "a write without an ID gets a 400, and nothing changes", async (shop) => {
    const { id, record } = await shop.create();
    shop.problem(await shop.call("DELETE", "orderstatuses"), 400);
    shop.problem(await shop.call("DELETE", "brands"), 400);
    shop.problem(await shop.call("PUT", "orderstatuses", { body: { Name: `${shop.mark} x` } }), 400);
    const answer = await shop.call("GET", `orderstatuses/${id}`);
    shop.same(answer, "the record", shop.record(answer), record);
  }),
];
