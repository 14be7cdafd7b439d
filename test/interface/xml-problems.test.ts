// An XML problem that quotes the request is well-formed, whatever the request contains.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { xml } from "../../src/formats/xml.ts";
import { startTestServer, type TestServer } from "../support/http/server.ts";

const cases: [string, string, string][] = [
  ["a control", "\u0000\u0001\u0008\u000b\u000c\u000e\u001f", "\ufffd".repeat(7)],
  ["a noncharacter", "\ufffe\uffff", "\ufffd\ufffd"],
  ["an unpaired surrogate", "a\ud83d b\ude00 c", "a\ufffd b\ufffd c"],
  ["characters that XML can contain", "\t\n \u007f\u0085\ud7ff\ue000\ufffd😀", "\t\n \u007f\u0085\ud7ff\ue000\ufffd😀"],
  ["markup", `<a>&"'\r]]>`, `&lt;a&gt;&amp;"'&#13;]]&gt;`],
];

describe("problem that quotes", () => {
  test.each(cases)("%s", (_, quoted, shown) => {
    const document = xml.problem({
      type: "/docs/problems/invalid-record",
      title: "The record is invalid",
      status: 400,
      detail: quoted,
      instance: "1",
      errors: [{ field: quoted, code: "invalid", detail: quoted }],
    });
    expect(document.isWellFormed()).toBe(true);
    expect(document).toContain(`<detail>${shown}</detail><instance>1</instance>`);
    expect(document).toContain(
      `<errors><i><field>${shown}</field><detail>${shown}</detail><code>invalid</code></i></errors>`,
    );
  });
});

describe("problem over HTTP that quotes", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.stop());

  // The test client checks every problem against the XSD with libxml2.
  test.each(cases)("%s", async (_, quoted) => {
    const wellFormed = encodeURIComponent(quoted.toWellFormed());
    const response = await server.call("GET", `/restapi/brands.xml?sort=${wellFormed}`);
    expect([response.status, response.headers.get("Content-Type")]).toEqual([400, "application/problem+xml"]);
  });
});
