// Changes of several records in one request of the console: staged edits, and one field of many records.

import { describe, expect, test } from "bun:test";
import type {
  ChangesBody,
  ChangesResponse,
  ConflictInfo,
  LastChangeInfo,
  RecordFaultInfo,
  SetFieldBody,
  SetFieldResponse,
  StagedChange,
  WriteProblem,
  WriteResponse,
} from "../../../src/admin/api/record-types.ts";
import type { Engine } from "../../../src/model/engine.ts";
import { removeOperator, setOperator } from "../../../src/operator/operators/operators.ts";
import { removeSite } from "../../../src/operator/sites/site-removal.ts";
import { createSite } from "../../../src/operator/sites/sites.ts";
import type { ConsoleClient, TestConsole } from "../../support/console/server.ts";
import { useConsoleOn } from "../../support/console/use-console.ts";
import { engines } from "../../support/engine/engines.ts";

const brands = "/sites/shop/records/brands";
const locations = "/sites/shop/records/locations";

describe.each(engines)("several records in the console on $name", (kind) => {
  let server: TestConsole;
  let anna: ConsoleClient;
  useConsoleOn(kind, (started, operator) => {
    [server, anna] = [started, operator];
  });

  const add = async (path: string, ...all: object[]): Promise<StagedChange[]> => {
    const added = [];
    for (const values of all) {
      const { record, version } = (await anna.call("POST", path, values)).json;
      added.push({ id: record.ID, version, values: {} });
    }
    return added;
  };
  const change = async (body: ChangesBody, by = anna, path = brands) => {
    const { status, json } = await by.call("POST", `${path}/changes`, body);
    return { status, ...json } as { status: number; code?: string; detail?: string } & ChangesResponse & WriteProblem;
  };
  const setField = async (body: SetFieldBody, path = brands, by = anna) => {
    const { status, json } = await by.call("POST", `${path}/set-field`, body);
    return { status, ...json } as { status: number; code?: string; detail?: string } & SetFieldResponse;
  };
  const namesIn = async (path: string) =>
    (await anna.call("GET", `${path}?limit=1000`)).json.records.map(
      ({ record }: { record: { Name: string } }) => record.Name,
    );
  const revision = async () => (await server.engine.readHeads([1]))[0]?.revision;
  const undo = ({ revisions, run }: WriteResponse) =>
    anna.call("POST", "/sites/shop/undo", { since: (revisions?.first ?? 1) - 1, until: revisions?.last, run });

  test("are changed together, only in the fields that are sent. The history has one entry, and one undo takes it back", async () => {
    const [a, b, c] = await add(
      brands,
      { Name: "a", AccountNumber: "1" },
      { Name: "b", AccountNumber: "2" },
      { Name: "c" },
    );
    const changes = [
      { ...a, values: { Name: "A" } },
      { ...b, values: { Telephone: { Daytime: "01" } } },
      { ...c, values: { Name: "c" } },
    ] as StagedChange[];
    const done = await change({ changes });
    expect(done).toMatchObject({ status: 200, changed: 2, unchanged: 1, revisions: { first: 4, last: 5 } });
    expect((await anna.call("GET", brands)).json.records.map(({ record }: { record: object }) => record)).toMatchObject(
      [
        { ID: 1, Name: "A", AccountNumber: "1" },
        { ID: 2, Name: "b", AccountNumber: "2", Telephone: { Daytime: "01" } },
        { ID: 3, Name: "c" },
      ],
    );
    const stored = (await anna.call("GET", `${brands}?sort=ID`)).json.records as { version: string }[];
    expect(done.versions).toEqual(stored.map(({ version }) => version));
    const [entry] = (await anna.call("GET", "/sites/shop/history")).json.entries;
    expect(entry).toMatchObject({ run: done.run, actor: "console:anna", first: 4, last: 5, counts: { update: 2 } });
    expect((await undo(done)).json).toMatchObject({ restored: 2, skipped: [] });
    expect(await namesIn(brands)).toEqual(["a", "b", "c"]);
  });
  if (kind.name === "PostgreSQL") return;

  test("are unchanged if they have the values already, because the response to an earlier attempt was lost", async () => {
    const [a, b] = (await add(brands, { Name: "a" }, { Name: "b" })) as [StagedChange, StagedChange];
    const first = { ...a, values: { AccountNumber: "1", Address: { Town: "" } } };
    await change({ changes: [first] });
    const again = await change({ changes: [first, { ...b, values: { AccountNumber: "2" } }] });
    expect(again).toMatchObject({ status: 200, changed: 1, unchanged: 1, revisions: { first: 4, last: 4 } });
    const other = await change({
      changes: [
        { ...a, values: { AccountNumber: "3" } },
        { ...b, values: { AccountNumber: "2" } },
      ],
    });
    expect(other).toMatchObject({ status: 412, conflictCount: 1, conflicts: [{ id: a.id }] });
    expect(other).not.toHaveProperty("repeated");
  });

  test("are all kept if the values of some are refused; each fault names its record and field", async () => {
    const [a, b, c] = (await add(locations, { Name: "a" }, { Name: "b" }, { Name: "c" })) as [
      StagedChange,
      StagedChange,
      StagedChange,
    ];
    await anna.change(locations, 3, { Name: "C" });
    const refused = await change(
      {
        changes: [
          { ...a, values: { Name: "x" } },
          { ...b, values: { Name: "", Address: { Country: "Germany" }, Colour: "red" } },
          { ...c, values: { ID: 9 } },
        ],
      },
      anna,
      locations,
    );
    const fault = (id: number, field: string, code: string, parameters = {}): RecordFaultInfo => ({
      id,
      field,
      code,
      ...parameters,
      detail: expect.any(String) as never,
    });
    expect(refused).toMatchObject({
      status: 400,
      code: "invalid-record",
      detail: "nothing was saved: 2 locations have invalid values, and someone else has changed 1 location",
      faultyCount: 2,
      conflictCount: 1,
      conflicts: [{ id: 3, record: { Name: "C" } }],
    });
    const faults = [
      fault(2, "Colour", "unknown-field"),
      fault(2, "Name", "required"),
      fault(2, "Address.Country", "invalid-country", { suggestion: "DE" }),
      fault(3, "ID", "read-only"),
    ];
    expect(refused.faults).toEqual(faults);
    expect(await namesIn(locations)).toEqual(["a", "b", "C"]);
  });

  test("that others have changed or deleted meanwhile are named, with who did it and when; nothing is stored", async () => {
    const staged = await add(brands, { Name: "a" }, { Name: "b" }, { Name: "c" }, { Name: "d" });
    const ben = await server.signIn("ben");
    await ben.change(brands, 1, { Name: "A" });
    await ben.call("DELETE", brands, { ids: [2] });
    const { key } = (await anna.call("POST", "/sites/shop/keys", { label: "till 5", scope: "write" })).json;
    const sent = await server.call("PUT", "/restapi/brands/3.json", { key, body: { Name: "C" } });
    const { keys } = (await anna.call("GET", "/sites/shop/keys")).json;
    const { prefix } = keys.find(({ label }: { label: string }) => label === "till 5");
    const changes = staged.map((one) => ({ ...one, values: { AccountNumber: "7" } }));
    const { status, code, conflicts, conflictCount } = await change({ changes });
    const at = expect.stringMatching(/^\d{4}-.*Z$/) as unknown as string;
    const byBen: LastChangeInfo = { actor: "console:ben", name: "ben", at };
    expect([sent.status, status, code, conflictCount]).toEqual([200, 412, "precondition-failed", 3]);
    expect(conflicts).toEqual([
      { id: 1, record: expect.objectContaining({ ID: 1, Name: "A" }), version: expect.any(String), changed: byBen },
      { id: 2, record: null, version: null, changed: byBen },
      {
        id: 3,
        record: expect.objectContaining({ Name: "C" }),
        version: expect.any(String),
        changed: { actor: prefix, name: "till 5", at },
      },
    ] as ConflictInfo[]);
    // Without a version, a change overwrites; with the present version, too.
    const again = changes.flatMap(({ id, values }) => (id === 2 ? [] : [{ id, values }]));
    expect(await change({ changes: again })).toMatchObject({ status: 200, changed: 3 });
  });

  test("get the same value in one field, ticked records or all that a search finds, after a dry run with number and names", async () => {
    await add(
      locations,
      ...["Mill", "Harbour", "Old Mill", "Quay"].map((Name) => ({ Name, Address: { Country: "FR" } })),
    );
    await anna.change(locations, 3, { Address: { Country: "GB" } });
    const before = await revision();
    const body = { field: "Address.Country", value: "GB", search: "mill" };
    const planned = await setField({ ...body, dryRun: true }, locations);
    expect(planned).toMatchObject({ status: 200, changed: 1, unchanged: 1, missing: 0, names: ["Mill"], faults: [] });
    expect(await revision()).toBe(before as number);
    const done = await setField({ ...body, digest: planned.digest }, locations);
    expect(done).toMatchObject({ status: 200, changed: 1, unchanged: 1, revisions: { first: 6, last: 6 } });
    const ticked = await setField({ field: "Address.Country", value: "DE", ids: [1, 2, 99] }, locations);
    expect(ticked).toMatchObject({ status: 200, changed: 2, missing: 1, names: ["Mill", "Harbour"] });
    expect((await undo(ticked)).json).toMatchObject({ restored: 2 });
    const all = await setField({ field: "Address.Country", value: "", search: "" }, locations);
    expect(all).toMatchObject({ changed: 4, unchanged: 0 });
    expect(await setField({ field: "Address.Country", value: "", search: "" }, locations)).toMatchObject({
      changed: 0,
      unchanged: 4,
    });
    // Nothing was written for records that have the value already.
    expect(await revision()).toBe((all.revisions?.last ?? 0) as number);
  });

  test.each<[string, () => Promise<unknown>, number]>([
    ["as many other records", () => anna.change(locations, 2, { Name: "Quay" }).then(renameThird), 412],
    ["another text in the field", () => anna.change(locations, 1, { Address: { Country: "DE" } }), 412],
    ["one record fewer", () => anna.change(locations, 1, { Address: { Country: "GB" } }), 412],
    ["another field of a record", () => anna.change(locations, 1, { Manager: "Ada" }), 200],
    ["nothing", async () => {}, 200],
  ])("set a field, confirmed by the digest of the dry run: %s changes meanwhile", async (_, meanwhile, status) => {
    const names = ["Mill", "Old Mill", "Quay"];
    await add(locations, ...names.map((Name) => ({ Name, Address: { Country: "FR" } })));
    const body = { field: "Address.Country", value: "GB", search: "mill" };
    const { digest, changed } = await setField({ ...body, dryRun: true }, locations);
    await meanwhile();
    expect([changed, (await setField({ ...body, digest }, locations)).status]).toEqual([2, status]);
    for (const other of [{ value: "DE" }, { field: "Address.County" }])
      expect(await setField({ ...body, ...other, digest }, locations)).toMatchObject({ status: 412 });
  });
  const renameThird = () => anna.change(locations, 3, { Name: "New Mill" });

  test("get no value that the field does not allow: the dry run says why, and nothing is stored", async () => {
    await add(locations, { Name: "a", Address: { Country: "GB" } });
    const body = { field: "Address.Country", value: "Germany", ids: [1] };
    const [dry, refused] = [await setField({ ...body, dryRun: true }, locations), await setField(body, locations)];
    expect(dry).toMatchObject({ status: 200, changed: 1, faults: [{ field: "Address.Country" }] });
    expect(refused).toMatchObject({ status: 400, code: "invalid-record" });
    expect(await setField({ field: "Name", value: "", ids: [1], dryRun: true }, locations)).toMatchObject({
      faults: [{ field: "Name", code: "required", detail: "a value is required" }],
    });
    expect(await revision()).toBe(1);
  });

  test("are changed once by a request that is sent twice", async () => {
    const [a] = (await add(brands, { Name: "a" })) as [StagedChange];
    const body = { changes: [{ ...a, values: { Name: "b" } }] };
    const send = () => anna.call("POST", `${brands}/changes`, body, { "Idempotency-Key": "one" });
    const [first, second] = [await send(), await send()];
    expect([first.status, second.text, await revision()]).toEqual([200, first.text, 2]);
  });

  const stopped = (reason: string) => `the change was stopped, because ben ${reason}`;
  const removed = "the site was restored, renewed or removed in the meantime; nothing was changed";
  const ends: [string, number, string, (ben: ConsoleClient) => Promise<unknown>][] = [
    ["operator is removed", 403, stopped("was signed out or removed"), () => removeOperator(server.engine, "ben", 1)],
    ["operator signs out", 403, stopped("was signed out or removed"), (ben) => ben.call("DELETE", "/session")],
    [
      "operator loses the site",
      403,
      stopped("can no longer manage this site"),
      () => setOperator(server.engine, "ben", { sites: ["toys"] }, 1),
    ],
    [
      "operator gets another role",
      403,
      stopped("now has another role"),
      () => setOperator(server.engine, "ben", { role: "viewer" }, 1),
    ],
    ["shop is removed", 409, removed, () => removeSite(server.engine, "shop", 1)],
  ];
  test.each(ends)("are not changed if the %s before they are stored", async (_, status, detail, end) => {
    await createSite(server.engine, "toys", {}, 1);
    const changes = (by: ConsoleClient) => change({ changes: [{ id: 1, values: { Name: "b" } }] }, by);
    const setting = (by: ConsoleClient) => setField({ field: "Name", value: "b", ids: [1] }, brands, by);
    await add(brands, { Name: "a" });
    for (const send of status === 409 ? [changes] : [changes, setting]) {
      await removeOperator(server.engine, "ben", 1).catch(() => {});
      const ben = await server.signIn("ben", ["shop"]);
      const { readHeads } = server.engine;
      let isLate = false;
      const late: Engine["readHeads"] = async (sites) => {
        const heads = await readHeads(sites);
        if (sites[0] !== 1 || isLate) return heads;
        isLate = true;
        await end(ben);
        return heads;
      };
      Object.assign(server.engine, { readHeads: late });
      const answer = await send(ben).finally(() => Object.assign(server.engine, { readHeads }));
      expect([isLate, answer.status, answer.detail]).toEqual([true, status, detail]);
      if (status === 403) expect(await namesIn(brands)).toEqual(["a"]);
    }
  });

  const ids = (length: number) => Array.from({ length }, (_, index) => index + 1);
  const values = { Name: "x" };
  const badChanges: [string, unknown][] = [
    ["no changes", {}],
    ["an empty list", { changes: [] }],
    ["too many changes", { changes: ids(5001).map((id) => ({ id, values })) }],
    [
      "a record twice",
      {
        changes: [
          { id: 1, values },
          { id: 1, values },
        ],
      },
    ],
    ["an ID that is a text", { changes: [{ id: "1", values }] }],
    ["null for a change", { changes: [null] }],
    ["a version that is a number", { changes: [{ id: 1, version: 1, values }] }],
    ["no values", { changes: [{ id: 1 }] }],
    ["values that are a list", { changes: [{ id: 1, values: [] }] }],
  ];
  const badSettings: [string, unknown][] = [
    ["neither IDs nor a search", {}],
    ["both", { ids: [1], search: "a" }],
    ["no IDs", { ids: [] }],
    ["too many IDs", { ids: ids(50_001) }],
    ["a long search", { search: "a".repeat(256) }],
    ["a field that is a group", { ids: [1], field: "Telephone" }],
    ["an unknown field", { ids: [1], field: "Nme" }],
    ["the ID", { ids: [1], field: "ID" }],
    ["a value that is a number", { ids: [1], value: 5 }],
    ["a dry run that is a text", { ids: [1], dryRun: "true" }],
    ["a digest that is a number", { ids: [1], digest: 1 }],
  ];
  test("are not changed by bad requests", async () => {
    await add(brands, { Name: "a" });
    for (const [name, body] of badChanges)
      expect([name, (await anna.call("POST", `${brands}/changes`, body)).status]).toEqual([name, 400]);
    for (const [name, body] of badSettings)
      expect([name, (await setField({ field: "Name", value: "x", ...(body as object) })).status]).toEqual([name, 400]);
    expect((await change({ changes: [{ id: 9, values: { Name: "x" } }] })).conflicts).toMatchObject([
      { id: 9, record: null, changed: null },
    ]);
    expect(await revision()).toBe(1);
  });
});
