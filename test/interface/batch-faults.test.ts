// Errors in the operations of a batch, and batches that are rejected as a whole (contract section 14).

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { engines } from "../support/engine/engines.ts";
import {
  type BatchOperation,
  faultsIn,
  sendBatch,
  toCreate,
  toDelete,
  toUpdate,
  toUpsert,
} from "../support/http/batch.ts";
import { startTestServer, type TestServer, useServer } from "../support/http/server.ts";

describe.each(engines)("batch errors on $name", (kind) => {
  let server: TestServer;
  useServer(kind, (started) => {
    server = started;
  });
  beforeAll(async () => {
    for (const [Name, AccountNumber] of [
      ["Acme", "A-1"],
      ["Beta", "B-1"],
      ["Twin", "T-1"],
      ["Twin", "T-1"],
    ])
      await server.call("POST", "/restapi/brands.json", { body: { Name, AccountNumber } });
  });

  const head = async () => (await server.engine.readHeads([server.site.ID]))[0]?.revision as number;
  const weak = 'W/"abc.1.5d8c12ab-json"';
  const other = '"abc.1.5d8c12ab-json"';
  const id = "ID";
  const account = "AccountNumber";

  test("every operation's errors are listed, including those only the database finds", async () => {
    const before = await head();
    const operations = [
      toCreate({ Name: "fine" }),
      toDelete(9999),
      toUpdate(1, { Name: "", Address: { Town: 5 } }),
      toUpdate(1, { Name: "x" }, other),
      toDelete(1),
      toUpdate(1, { Name: "deleted above" }),
    ];
    const response = await sendBatch(server, operations);
    expect([response.status, response.json.detail]).toEqual([
      404,
      "operation 2: there is no brand with the ID 9999; nothing was stored (and 3 more operations)",
    ]);
    expect(faultsIn(response).map(([operation, field]) => [operation, field])).toEqual([
      [2, ""],
      [3, "Name"],
      [3, "Address.Town"],
      [4, ""],
      [6, ""],
    ]);
    expect(await head()).toBe(before);
  });
  if (kind.name === "PostgreSQL") return;

  /** Operations with one field error each, and the field it's at. */
  const faults: [
    string,
    BatchOperation,
    status: number,
    code: string,
    field: string,
    detail: RegExp,
    match?: string,
  ][] = [
    [
      "a create with invalid fields",
      toCreate({ Name: "", AcountNumber: "x" }),
      400,
      "invalid-record",
      "AcountNumber",
      /unknown field; did you mean `AccountNumber`\?/,
    ],
    [
      "a create without a required field",
      toCreate({ AccountNumber: "x" }),
      400,
      "invalid-record",
      "Name",
      /^a value is required$/,
    ],
    ["a create with `ID`", { ...toCreate({ Name: "x" }), ID: 3 }, 400, "invalid-record", id, /leave it out/],
    ["a create with an ID in its record", toCreate({ ID: 3, Name: "x" }), 400, "invalid-record", id, /leave it out/],
    [
      "a create without a record",
      { Method: "POST", Resource: "brands" },
      400,
      "invalid-record",
      "Record",
      /a value is required: one brand$/,
    ],
    [
      "a record that is a list",
      toCreate([]),
      400,
      "invalid-record",
      "Record",
      /send an object with one brand, not an empty array; send `\{\}`/,
    ],
    ["an update of null", toUpdate(1, null as never), 400, "invalid-record", "Record", /one brand, not null/],
    [
      "an update with a number as a value",
      toUpdate(1, { Name: 5 }),
      400,
      "invalid-record",
      "Name",
      /send a string, not a number/,
    ],
    [
      "an update without an ID",
      toUpsert({ Name: "x" }),
      400,
      "ambiguous-id",
      "ID",
      /no record given: set `ID`, or use `match`/,
    ],
    [
      "a delete without an ID",
      { Method: "DELETE", Resource: "brands", Record: { [account]: "A-1" } },
      400,
      "ambiguous-id",
      "ID",
      /no record given: set `ID`, or use `match`$/,
    ],
    [
      "a delete without an ID or a match value",
      { Method: "DELETE", Resource: "brands" },
      400,
      "ambiguous-id",
      "ID",
      /no record given: set `ID`, or send `AccountNumber` in `Record`$/,
      account,
    ],
    [
      "a delete by an empty match value",
      { Method: "DELETE", Resource: "brands", Record: { [account]: "" } },
      400,
      "invalid-record",
      account,
      /a value is required to find the record by it/,
      account,
    ],
    [
      "a delete by a match value, with an unknown field",
      { Method: "DELETE", Resource: "brands", Record: { [account]: "A-1", Nmae: "x" } },
      400,
      "invalid-record",
      "Nmae",
      /did you mean `Name`/,
      account,
    ],
    [
      "an update with two IDs",
      toUpdate(1, { ID: 2, Name: "x" }),
      400,
      "ambiguous-id",
      "ID",
      /`ID` and the record name different records: 1, 2/,
    ],
    [
      "a delete with two IDs",
      { ...toDelete(1), Record: { ID: 2 } },
      400,
      "ambiguous-id",
      "ID",
      /name different records: 1, 2/,
    ],
    [
      "an invalid ID in a record",
      toUpsert({ ID: "1", Name: "x" }),
      400,
      "invalid-record",
      id,
      /use a whole number, 1 or more, not "1"/,
    ],
    [
      "a malformed `IfMatch`",
      toUpdate(1, { Name: "x" }, "abc"),
      400,
      "bad-request",
      "IfMatch",
      /^IfMatch must be `\*` or the unchanged `ETag`/,
    ],
    ["an empty `IfMatch`", toDelete(1, ""), 400, "bad-request", "IfMatch", /^IfMatch must be/],
    [
      "a create with `IfMatch`",
      { ...toCreate({ Name: "x" }), IfMatch: "*" },
      400,
      "bad-request",
      "IfMatch",
      /^`IfMatch` isn't allowed on a create$/,
    ],
    [
      "an update of an unknown ID",
      toUpdate(9999, { Name: "x" }),
      404,
      "not-found",
      "",
      /^there is no brand with the ID 9999$/,
    ],
    [
      "an update of an unknown ID with `IfMatch`",
      toUpdate(9999, { Name: "x" }, "*"),
      404,
      "not-found",
      "",
      /with the ID 9999/,
    ],
    ["a delete of an unknown ID", toDelete(9007199254740991), 404, "not-found", "", /with the ID 9007199254740991$/],
    [
      "another version in `IfMatch`",
      toUpdate(1, { Name: "x" }, other),
      412,
      "precondition-failed",
      "",
      /^the brand 1 has changed since; read it again$/,
    ],
    ["a weak tag in `IfMatch`", toDelete(1, weak), 412, "precondition-failed", "", /^`IfMatch` has a weak tag/],
    [
      "an empty match value",
      toUpsert({ [account]: "" }),
      400,
      "invalid-record",
      account,
      /^a value is required to find the record by it$/,
      account,
    ],
    [
      "a record without the match value",
      toUpsert({ Name: "x" }),
      400,
      "invalid-record",
      account,
      /^a value is required/,
      account,
    ],
    [
      "a match value of the wrong type",
      toUpsert({ [account]: 5 }),
      400,
      "invalid-record",
      account,
      /^send a string, not a number; put it in double quotes$/,
      account,
    ],
    [
      "a match value that several records have",
      toUpsert({ [account]: "T-1" }),
      400,
      "invalid-record",
      account,
      /^2 records have this value \(3, 4\); name one by its ID$/,
      account,
    ],
    [
      "a matched create without a required field",
      toUpsert({ [account]: "new" }),
      400,
      "invalid-record",
      "Name",
      /^a value is required$/,
      account,
    ],
    [
      "`IfMatch` without a matched record",
      toUpsert({ [account]: "new", Name: "x" }, "*"),
      412,
      "precondition-failed",
      "",
      /^no brand has this `AccountNumber`, so `IfMatch` can't match$/,
      account,
    ],
    [
      "another version of a matched record",
      toUpsert({ [account]: "A-1" }, other),
      412,
      "precondition-failed",
      "",
      /^the brand with this `AccountNumber` has changed since/,
      account,
    ],
  ];

  test.each(faults.map(([name, ...fault]) => [name, fault] as const))("%s", async (_, fault) => {
    const [operation, status, code, field, detail, match] = fault;
    const before = await head();
    const operations = [toUpdate(2, { Name: "Beta changed" }), operation];
    const query = match === undefined ? "" : `match=${match}`;
    for (const [parameter, verb] of [
      ["dryRun=1", "would be"],
      ["dryRun=0", "was"],
    ]) {
      const response = await sendBatch(server, operations, { query: [parameter, query].filter(Boolean).join("&") });
      expect([response.status, response.json.status, response.json.type]).toEqual([
        status,
        status,
        `/docs/problems/${code}`,
      ]);
      expect(faultsIn(response)[0]?.slice(0, 2)).toEqual([2, field]);
      expect(faultsIn(response)[0]?.[2]).toMatch(detail);
      expect(response.json.detail).toMatch(new RegExp(`^operation 2: .*; nothing ${verb} stored$`));
      expect(await head()).toBe(before);
    }
    const alone = await sendBatch(server, operations, { query: ["atomic=0", query].filter(Boolean).join("&") });
    const [stored, rejected] = alone.json.Results;
    expect([alone.status, stored.Status, stored.Record.Name]).toEqual([200, 200, "Beta changed"]);
    const { Problem, ...others } = rejected;
    expect([others, Problem.type, Problem.status]).toEqual([{ Status: status }, `/docs/problems/${code}`, status]);
    expect(Problem.instance).toBe(alone.headers.get("X-Request-Id"));
    expect(Problem.errors?.[0]?.detail ?? Problem.detail).toMatch(detail);
    await sendBatch(server, [toUpdate(2, { Name: "Beta" })]);
  });

  test("at most 100 are listed", async () => {
    const response = await sendBatch(
      server,
      Array.from({ length: 300 }, () => toDelete(9999)),
    );
    expect([response.status, faultsIn(response).length, faultsIn(response)[99]?.[0]]).toEqual([404, 100, 100]);
    expect(response.json.detail).toContain("(and 299 more operations)");
  });

  test("XML names the operation too", async () => {
    const body = `<Batch><Operation Method="DELETE" Resource="brands" ID="9999"/></Batch>`;
    const all = await server.call("POST", "/restapi/batch.xml", { body });
    expect([all.status, all.headers.get("Content-Type")]).toEqual([404, "application/problem+xml"]);
    expect(all.text).toMatch(/<operation>1<\/operation>/);
    const alone = await server.call("POST", "/restapi/batch.xml?atomic=0", { body });
    expect(alone.text).toMatch(
      /<Result Status="404"><problem xmlns="urn:ietf:rfc:7807">.*<status>404<\/status>.*<\/problem><\/Result>/,
    );
  });

  /** Ten unknown fields. */
  const unknown = Array.from({ length: 10 }, (_, index) => `Tow${String.fromCharCode(97 + index)}`);
  const inJson = (Method: string, names: readonly string[], values: object) => ({
    Method,
    Resource: "brands",
    Record: { ...Object.fromEntries(names.map((name) => [name, ""])), ...values },
  });
  const inXml = (Method: string, names: readonly string[], values: object) =>
    `<Operation Method="${Method}" Resource="brands"><Brand>${names.map((name) => `<${name}/>`).join("")}${Object.entries(
      values,
    )
      .map(([name, value]) => `<${name}>${value}</${name}>`)
      .join("")}</Brand></Operation>`;

  test.each([
    ["json", "POST", ""],
    ["xml", "POST", ""],
    ["json", "PUT", "&match=AccountNumber"],
    ["xml", "PUT", "&match=AccountNumber"],
  ])("with atomic=0, invalid records in %s (%s%s) list 1,000 errors in all, then one each", async (format, Method, match) => {
    const rows = Array.from({ length: 110 }, (_, index) => index);
    const all: [readonly string[], object][] = [
      ...rows.map((index): [readonly string[], object] => [
        unknown,
        { Name: "x", [account]: `${format}-${Method}-${index}` },
      ]),
      [["Towa"], { Name: "x", [account]: `${format}-${Method}-one` }],
      [[], { Name: `fine in ${format}`, [account]: `${format}-${Method}-fine` }],
    ];
    const body =
      format === "json"
        ? { Operations: all.map(([names, values]) => inJson(Method, names, values)) }
        : `<Batch>${all.map(([names, values]) => inXml(Method, names, values)).join("")}</Batch>`;
    const path = `/restapi/batch.${format}?atomic=0${match}`;
    const headers = { "Idempotency-Key": `many ${kind.name} ${format} ${Method}` };
    const [first, again] = [
      await server.call("POST", path, { body, headers }),
      await server.call("POST", path, { body, headers }),
    ];
    expect([first.status, again.headers.get("Idempotency-Replayed")]).toEqual([200, "true"]);
    const texts = [first, again].map(({ text }) => text.replace(/("instance":|<instance>)"?[^"<]*/g, "$1"));
    expect(texts[1]).toBe(texts[0] as string);
    const results = (texts[0] as string).split(/(?=\{"Status":|<Result )/).slice(1);
    const detailsOf = (result: string | undefined) =>
      [...String(result).matchAll(/(?:"detail":"|<detail>)(.*?)(?:"[,}]|<\/detail>)/g)].map(([, detail]) => detail);
    const no = format === "json" ? "unknown field" : "unknown field";
    for (const full of [results[0], results[99]]) {
      const [detail, ...details] = detailsOf(full);
      expect(detail).toEndWith("(and 9 more)");
      expect([details.length, details[9]]).toEqual([10, expect.stringMatching(new RegExp(`^${no}; did you mean `))]);
    }
    for (const brief of [results[100], results[109]])
      expect(detailsOf(brief)).toEqual([`\`Towa\`: ${no} (and more)`, no]);
    expect(detailsOf(results[110])).toEqual([`\`Towa\`: ${no}`, no]);
    expect(results[111]).toMatch(/^(?:\{"Status":201|<Result Status="201")/);
  });

  const malformed = [
    { Method: "POST", Resource: "brnds", Record: { Name: "x" } },
    { Method: "UPSERT", Resource: "brands", Record: { Name: "x" } },
    { Method: "POST", Resource: "brands", Record: [1] },
    { Method: "POST", Resource: "brands", Record: { Name: "fine" } },
    { method: "POST", Resource: "locations", ID: "1", IfMatch: 5, Record: [1] },
    { Method: "PUT", Resource: "brands", ID: 1, Record: { Nmae: "x", Address: { Town: 5 } } },
    "x",
    { Method: "PUT", Resource: "brands", Record: { Name: "x" } },
    { ...toDelete(9999), Id: 1 },
    { ...toDelete(9999), IfMatch: "x" },
    toDelete(9999),
  ];
  const malformedFaults = [
    [1, "Resource", "use brands or orderstatuses, not `brnds`; did you mean `brands`?"],
    [2, "Method", expect.stringMatching(/^use POST, PUT, PATCH or DELETE, not `UPSERT`/)],
    [3, "Record", "send an object with one brand, not an array"],
    [5, "method", "unknown field; did you mean `Method`?"],
    [5, "Method", "a value is required: POST, PUT, PATCH or DELETE"],
    [5, "Resource", "use brands or orderstatuses; locations can only be read"],
    [5, "ID", 'use a whole number, 1 or more, not "1"; remove the quotes'],
    [5, "IfMatch", "send a string, not a number"],
    [5, "Record", "send an object, not an array"],
    [6, "Nmae", "unknown field; did you mean `Name`?"],
    [6, "Address.Town", "send a string, not a number; put it in double quotes"],
    [7, "", "send an object, not a string"],
    [8, "ID", expect.stringMatching(/^no record given/)],
    [9, "Id", "unknown field; did you mean `ID`?"],
    [10, "IfMatch", expect.stringMatching(/^IfMatch must be/)],
  ];

  test.each([
    "",
    "atomic=0",
    "dryRun=1",
  ])("malformed operations are all listed, along with invalid records (?%s)", async (query) => {
    const before = await head();
    const response = await sendBatch(server, malformed as BatchOperation[], { query });
    expect([response.status, response.json.type]).toEqual([400, "/docs/problems/bad-request"]);
    expect(response.json.detail).toBe(
      "operation 1: `Resource`: use brands or orderstatuses, not `brnds`; did you mean `brands`?; nothing was stored (and 14 more)",
    );
    expect(faultsIn(response)).toEqual(malformedFaults as never);
    expect(await head()).toBe(before);
  });

  test("malformed operations in XML are all listed", async () => {
    const before = await head();
    const operations = [
      '<Operation Method="POST" Resource="brnds"><Brand><Name>x</Name></Brand></Operation>',
      '<Operation Method="UPSERT" Resource="brands"><Brand><Name>x</Name></Brand></Operation>',
      '<Operation Method="POST" Resource="brands"><OrderStatus><Name>x</Name></OrderStatus></Operation>',
      '<Operation Method="POST" Resource="brands"><Brand><Name>fine</Name></Brand></Operation>',
      '<Operation method="POST" Resource="x" ID="x"><Brand/><Brand/></Operation>',
      '<Operation Method="POST" Resource="brands"><Brand><Nmae>x</Nmae></Brand></Operation>',
      '<Operation Method="POST" Resource="brands">text</Operation>',
      "<Brand><Name>x</Name></Brand>",
      '<Operation Method="DELETE" Resource="brands"><ID>5</ID></Operation>',
    ];
    for (const query of ["", "?atomic=0"]) {
      const body = `<Batch>${operations.join("")}</Batch>`;
      const { status, text } = await server.call("POST", `/restapi/batch.xml${query}`, { body });
      expect(status).toBe(400);
      const faults = [...text.matchAll(/<operation>(\d+)<\/operation><field>([^<]*)<\/field>/g)];
      expect(faults.map(([, operation, field]) => `${operation} ${field}`)).toEqual([
        "1 Resource",
        "2 Method",
        "3 OrderStatus",
        "5 method",
        "5 Brand",
        "5 Method",
        "5 Resource",
        "5 ID",
        "6 Nmae",
        "6 Name",
        "7 Operation",
        "8 Brand",
        "9 ID",
      ]);
    }
    expect(await head()).toBe(before);
  });

  test("malformed operations: the first 100 are listed before errors in records, and the rest isn't read", async () => {
    const wrong = toUpdate(1, { Name: 5 });
    const typo = { ...toDelete(1), Resource: "brnds" };
    const some = await sendBatch(server, [...Array<BatchOperation>(200).fill(wrong), typo, typo]);
    expect(faultsIn(some).map(([operation]) => operation)).toEqual([
      ...Array.from({ length: 98 }, (_, index) => index + 1),
      201,
      202,
    ]);
    expect(some.json.detail).toMatch(
      /^operation 201: `Resource`: .*nothing was stored \(and more; the first 100 are listed\)$/,
    );
    const operations = Array<BatchOperation>(5000)
      .fill(typo)
      .map((one) => JSON.stringify(one));
    const many = await server.call("POST", "/restapi/batch.json", { body: `{"Operations":[${operations.join(",")},!` });
    expect([many.status, faultsIn(many).length, faultsIn(many)[99]?.[0]]).toEqual([400, 100, 100]);
    expect(many.json.detail).toMatch(/^operation 1: .*\(and more; the first 100 are listed\)$/);
  });

  test("a syntax error is reported alone", async () => {
    const body = `{"Operations":[{"Method":"UPSERT","Resource":"brands"},\n{"Method":"POST",,},{]}`;
    const { status, json } = await server.call("POST", "/restapi/batch.json", { body });
    expect([status, json.errors]).toEqual([400, [expect.objectContaining({ operation: 2, line: 2, column: 18 })]]);
  });

  test("a `match` field that a resource lacks is reported for each operation", async () => {
    const operations = [1, 2].map(() => ({ Method: "PUT", Resource: "orderstatuses", Record: { Name: "x" } }));
    const response = await sendBatch(server, [toUpsert({ Name: 5 }), ...operations, toDelete(1)], {
      query: `match=${account}&atomic=0`,
    });
    expect(response.status).toBe(400);
    expect(faultsIn(response).map(([operation, field]) => [operation, field])).toEqual([
      [1, "Name"],
      [2, "Resource"],
      [3, "Resource"],
    ]);
  });

  test("errors in the request itself get a 400 in either mode, and nothing is stored", async () => {
    const before = await head();
    const fine = toCreate({ Name: "fine" });
    const whole: [unknown, RegExp][] = [
      ["", /the body is empty/],
      ["[]", /the body must be `\{"Operations": \[\.\.\.\]\}`/],
      ['{"Operations":[', /line 1, column/],
      [
        { Operations: [fine, { Method: "GET", Resource: "brands" }] },
        /^operation 2: `Method`: use POST, PUT, PATCH or DELETE, not `GET`/,
      ],
      [{ Operations: [fine, { Method: "POST", Resource: "brand" }] }, /did you mean `brands`\?/],
      [
        { Operations: [fine, { Method: "POST", Resource: "locations" }] },
        /^operation 2: `Resource`: use brands or orderstatuses; locations can only be read/,
      ],
      [{ Operations: [fine, { ...fine, ID: "1" }] }, /^operation 2: `ID`: use a whole number, 1 or more/],
      [{ Operations: [fine, { ...fine, Id: 1 }] }, /^operation 2: `Id`: unknown field; did you mean `ID`\?/],
      [{ Operations: [fine, { ...toDelete(1), IfMatch: 5 }] }, /`IfMatch`: send a string/],
    ];
    for (const query of ["", "?atomic=0", "?dryRun=1"]) {
      for (const [body, detail] of whole) {
        const response = await server.call("POST", `/restapi/batch.json${query}`, { body });
        expect([response.status, response.json.type]).toEqual([400, "/docs/problems/bad-request"]);
        expect(response.json.detail).toMatch(detail);
      }
      const noField = [fine, { Method: "PUT", Resource: "orderstatuses", Record: { Name: "x" } }];
      const response = await sendBatch(server, noField, { query: `match=${account}${query.replace("?", "&")}` });
      expect([response.status, response.json.errors[0].operation]).toEqual([400, 2]);
      expect(response.json.detail).toMatch(
        /^operation 2: `Resource`: unknown field; order statuses can't be matched by `AccountNumber`, only by Name; nothing was stored$/,
      );
    }
    expect(await head()).toBe(before);
  });
});

describe("a batch request", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.stop());

  test.each([
    ["dryrun=1", "a batch request has no parameter `dryrun`; did you mean `dryRun`?"],
    ["x=1", expect.stringMatching(/^a batch request has no parameter `x`; it has `match`, `dryRun` and `atomic`/)],
    ["dryRun=x", "`dryRun` must be 0 or 1, not `x`"],
    ["dryRun=", "`dryRun` must be 0 or 1, not ``"],
    ["atomic=true", "`atomic` must be 0 or 1, not `true`"],
    ["atomic=0&atomic=1", "`atomic` appears more than once"],
    ["match=Nmae", "`match`: unknown text field `Nmae`; did you mean `Name`?"],
    [
      "match=ID",
      expect.stringMatching(/^`match`: unknown text field `ID`; the text fields are Name, AccountNumber, Telephone/),
    ],
    ["match=", expect.stringMatching(/^`match`: unknown text field ``; the text fields are Name, /)],
    ["match=Name&match=Name", "`match` appears more than once"],
  ])("with %s gets a 400", async (query, detail) => {
    const { status, json } = await sendBatch(server, [toCreate({ Name: "x" })], { query });
    expect([status, json.detail]).toEqual([400, detail]);
  });

  test("takes no conditional header fields", async () => {
    for (const name of ["If-Match", "If-None-Match"]) {
      const { status, json } = await sendBatch(server, [], { headers: { [name]: "*" } });
      expect([status, json.detail]).toEqual([400, `a batch can't have ${name}; send \`IfMatch\` in each operation`]);
    }
  });

  test("must be a POST", async () => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const { status, headers } = await server.call(method, "/restapi/batch.json");
      expect([status, headers.get("Allow")]).toEqual([405, "POST, OPTIONS"]);
    }
    const overridden = await sendBatch(server, [], { headers: { "X-HTTP-Method-Override": "PUT" } });
    expect(overridden.status).toBe(405);
    expect((await server.call("OPTIONS", "/restapi/batch.xml")).headers.get("Allow")).toBe("POST, OPTIONS");
  });

  test("is checked in the order key, scope, parameters, encoding, body", async () => {
    const bad = { query: "dryrun=1", headers: { "Content-Encoding": "br" } };
    const none = await sendBatch(server, [], { ...bad, key: null });
    const reading = await sendBatch(server, [], { ...bad, key: await server.issueKey({ rights: ["read"] }) });
    expect([none.status, reading.status]).toEqual([401, 403]);
    expect((await sendBatch(server, [], bad)).status).toBe(400);
    expect((await sendBatch(server, [], { headers: bad.headers })).status).toBe(415);
    expect(
      (await sendBatch(server, [], { headers: { "Content-Type": "application/json; charset=latin1" } })).status,
    ).toBe(415);
    expect((await sendBatch(server, [], { headers: { "Idempotency-Key": "ä".repeat(2) } })).status).toBe(400);
    const large = new Uint8Array(8 * 1024 * 1024 + 1).fill(0x20);
    expect((await server.call("POST", "/restapi/batch.json?dryrun=1", { body: large })).status).toBe(400);
    const tooLarge = await server.call("POST", "/restapi/batch.json", { body: large });
    expect([tooLarge.status, tooLarge.json.detail]).toEqual([413, "the body has more than 8388608 bytes"]);
    expect((await server.call("POST", "/restapi/batch.json", { body: large, key: null })).status).toBe(401);
    expect((await server.call("POST", "/restapi/batch.json", { body: large.subarray(1) })).json.detail).toMatch(
      /is empty/,
    );
  });
});
