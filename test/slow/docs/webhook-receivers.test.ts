// The receivers in examples/, where their languages are installed, with signatures made by an independent library.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { startTestServer } from "../../support/http/server.ts";
import { waitUntil } from "../../support/time.ts";
import { createTestWebhook } from "../../support/webhooks/test-webhook.ts";

// A copy, since one of them writes a file beside itself.
const folder = mkdtempSync(join(tmpdir(), "storefront-receivers-"));
cpSync(join(import.meta.dir, "../../../examples"), folder, { recursive: true });
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const readme = readFileSync(join(folder, "README.md"), "utf8");
const secretOf = (fill: string) => `whsec_${btoa(fill.repeat(32))}`;
const [secret, secondSecret, oldSecret] = [secretOf("n"), secretOf("s"), secretOf("o")];

let revision = 0;

/** An event of changes that are later than all before. */
const nextChanges = (Since = "a.17", Next = "a.19") => ({
  type: "storefront.changes",
  timestamp: "2026-11-21T20:15:00.123Z",
  data: {
    Site: "shop",
    Since,
    Changes: [
      {
        Revision: ++revision,
        Operation: "update",
        Resource: "brands",
        ID: 12,
        Record: { ID: 12, Name: "Blåbær & 山" },
      },
      { Revision: ++revision, Operation: "delete", Resource: "orderstatuses", ID: 7, Record: null },
    ],
    Next,
  },
});
const [updateOutput, deleteOutput] = ["update brands 12 Blåbær & 山\n", "delete orderstatuses 7 \n"];
const changesOutput = updateOutput + deleteOutput;
const goneOutput = "some changes are missing; read the lists again\n";
// Not as any program would write it again: a signature is over these bytes.
const toBody = (event: object) => JSON.stringify(event, null, 1).replace("å", "\\u00e5");
const nextBody = () => toBody(nextChanges());
const changes = nextChanges();
const body = toBody(changes);
/** An event with a change that is older than the last one of its record, and another change. */
const mixed = () => {
  const event = nextChanges();
  const Changes = [changes.data.Changes[0], event.data.Changes[1]];
  return toBody({ ...event, data: { ...event.data, Changes } });
};

interface Delivery {
  readonly body: string;
  readonly headers: Record<string, string>;
}

let deliveries = 1000;

/** A delivery signed with each of `secrets`. By default, each has another ID. */
function signed(
  text: string,
  secrets: readonly string[],
  ageInSeconds = 0,
  id = `evt_1_a_18_${++deliveries}`,
): Delivery {
  const at = new Date(Date.now() - ageInSeconds * 1000);
  return {
    body: text,
    headers: {
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": secrets.map((each) => new Webhook(each).sign(id, at, text)).join(" "),
    },
  };
}

function without({ body: text, headers }: Delivery, name: string): Delivery {
  return { body: text, headers: Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name)) };
}

function changed(delivery: Delivery, headers: Record<string, string>): Delivery {
  return { ...delivery, headers: { ...delivery.headers, ...headers } };
}

const valid = signed(body, [secret]);
const test_ = JSON.stringify({ type: "storefront.test", timestamp: "…", data: { Site: "shop", Next: "a.19" } });
const gone = JSON.stringify({
  type: "storefront.gone",
  timestamp: "…",
  data: { Site: "shop", Since: "a.19", Next: "b.25" },
});
const after = (Since: string, Next: string) => JSON.stringify(nextChanges(Since, Next));
/** The changes of the first event, in the history after a restore. */
const restored = JSON.stringify({ ...changes, data: { ...changes.data, Since: "b.25", Next: "b.27" } });
const signature = valid.headers["webhook-signature"] as string;

/** A request, the status of its response and the output. */
const cases: [string, () => Delivery, number, string][] = [
  ["changes", () => signed(body, [secret], 0, "evt_1_a_18_19"), 204, changesOutput],
  ["the same again, and does nothing", () => signed(body, [secret], 0, "evt_1_a_18_19"), 204, ""],
  ["a test", () => signed(test_, [secret]), 204, ""],
  ["the same changes in a new event, and does nothing", () => signed(body, [secret]), 204, ""],
  ["later changes", () => signed(nextBody(), [secret]), 204, changesOutput],
  [
    "a change that is older than the last one of its record, and does nothing with it",
    () => signed(mixed(), [secret]),
    204,
    deleteOutput,
  ],
  ["that changes are gone", () => signed(gone, [secret]), 204, goneOutput],
  ["a late repetition, and does nothing", () => signed(body, [secret], 0, "evt_1_a_18_19"), 204, ""],
  ["what continues that, with lower revisions", () => signed(restored, [secret]), 204, changesOutput],
  ["what does not continue that", () => signed(after("c.26", "c.28"), [secret]), 204, goneOutput],
  ["a test after that", () => signed(test_, [secret]), 204, ""],
  ["what was to come", () => signed(after("c.28", "a.19"), [secret]), 204, changesOutput],
  ["signatures of two secrets", () => signed(nextBody(), [secret, oldSecret]), 204, changesOutput],
  ["a signature of the second secret", () => signed(nextBody(), [secondSecret]), 204, changesOutput],
  ["the same in the other order", () => signed(nextBody(), [oldSecret, secret]), 204, changesOutput],
  [
    "a signature of a later version",
    () => {
      const delivery = signed(nextBody(), [secret]);
      return changed(delivery, { "webhook-signature": `v2,x v1a,y ${delivery.headers["webhook-signature"]}` });
    },
    204,
    changesOutput,
  ],
  ["four minutes late", () => signed(nextBody(), [secret], 240), 204, changesOutput],
  ["another secret", () => signed(body, [oldSecret]), 401, ""],
  ["another body", () => ({ ...valid, body: body.replace("12", "13") }), 401, ""],
  ["the same JSON in other bytes", () => ({ ...valid, body: JSON.stringify(changes) }), 401, ""],
  ["another ID", () => changed(valid, { "webhook-id": "evt_1_a_18_20" }), 401, ""],
  [
    "another time",
    () => changed(valid, { "webhook-timestamp": String(Number(valid.headers["webhook-timestamp"]) - 9) }),
    401,
    "",
  ],
  ["six minutes late", () => signed(body, [secret], 360), 401, ""],
  ["six minutes early", () => signed(body, [secret], -360), 401, ""],
  ["no time", () => without(valid, "webhook-timestamp"), 401, ""],
  ["no ID", () => without(valid, "webhook-id"), 401, ""],
  ["no signature", () => without(valid, "webhook-signature"), 401, ""],
  ...["", "v1", "v1,", "v1,?", `${signature}=`, signature.slice(0, -8), signature.slice(3), "v1,é"].map(
    (text): [string, () => Delivery, number, string] => [
      `the signature ${JSON.stringify(text)}`,
      () => changed(valid, { "webhook-signature": text }),
      401,
      "",
    ],
  ),
  ...["", "NaN", "-1", "9".repeat(400), "1e9", "²"].map((text): [string, () => Delivery, number, string] => [
    `the time ${JSON.stringify(text.slice(0, 9))}`,
    () => changed(valid, { "webhook-timestamp": text }),
    401,
    "",
  ]),
];

/** The program, its command in examples/README.md, and the command with a free port. */
const programs: [string, string, string[]][] = [
  ["webhook.mjs", "node webhook.mjs 9000", ["node", "webhook.mjs", "0"]],
  ["webhook.py", "python3 webhook.py 9000", ["python3", "webhook.py", "0"]],
  ["webhook.php", "php -S 127.0.0.1:9000 webhook.php", ["php", "-S", "127.0.0.1:0", "webhook.php"]],
];

interface Receiver {
  readonly url: string;
  /** The lines that it printed since the last call. */
  printed(length: number): Promise<string>;
  stop(): Promise<void>;
}

async function startReceiver(command: readonly string[], secretInUse: string): Promise<Receiver> {
  const env = { ...process.env, SECRET: secretInUse };
  const running = Bun.spawn([...command], { cwd: folder, env, stdout: "pipe", stderr: "pipe" });
  const [out, complaint] = [{ text: "" }, { text: "" }];
  for (const [stream, sink] of [
    [running.stdout, out],
    [running.stderr, complaint],
  ] as const)
    void collect(stream, sink);
  const address = await waitUntil(
    () => /port (\d+)|127\.0\.0\.1:(\d+)/.exec(out.text + complaint.text),
    "the port of the receiver",
  );
  let from = out.text.length;
  return {
    url: `http://127.0.0.1:${address[1] ?? address[2]}/`,
    async printed(length) {
      await waitUntil(() => out.text.length >= from + length, "what the receiver prints");
      const text = out.text.slice(from);
      from = out.text.length;
      return text;
    },
    async stop() {
      running.kill();
      await running.exited;
    },
  };
}

async function collect(stream: ReadableStream<Uint8Array>, sink: { text: string }): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) sink.text += decoder.decode(chunk, { stream: true });
}

for (const [file, usual, command] of programs) {
  const isHere = Bun.which(command[0] as string) !== null;

  test(`${file}: its command is in the examples`, () => {
    expect(readme).toContain(`](${file}) | \`SECRET=whsec_… ${usual}\``);
  });

  if (!isHere) continue;
  describe(file, () => {
    let receiver: Receiver;
    beforeAll(async () => {
      receiver = await startReceiver(command, `${secret} ${secondSecret}`);
    });
    afterAll(() => receiver.stop());

    test.each(cases)("receives %s", async (_, make, status, output) => {
      const { body: sent, headers } = make();
      const response = await fetch(receiver.url, { method: "POST", body: sent, headers });
      expect([response.status, await receiver.printed(output.length)]).toEqual([status, output]);
    });

    test("receives what a real server delivers, before and after the secret is changed", async () => {
      const server = await startTestServer();
      const { engine, site } = server;
      const key = await createTestWebhook(engine, site.ID, receiver.url);
      const now = Date.now();
      await engine.rotateWebhookSecret(key, secret, now, now);
      for (const id of [1, 2, 3]) {
        await server.call("POST", "/restapi/brands.json", { body: { Name: "Blåbær & 山\u2028" } });
        // Of another server than before.
        const output = id === 1 ? goneOutput : `create brands ${id} Blåbær & 山\u2028\n`;
        expect(await receiver.printed(output.length)).toBe(output);
        if (id === 2) await engine.rotateWebhookSecret(key, oldSecret, now + 1, now + 60_000);
      }
      await server.stop();
    });

    test("rejects bodies that are too large before it reads them, and those without a length", async () => {
      const large = { method: "POST", body: "x".repeat(5_000_001), headers: valid.headers };
      expect(
        await fetch(receiver.url, large).then(
          ({ status }) => status,
          () => 413,
        ),
      ).toBe(413);
      const again = signed(body, [secret]);
      const response = await fetch(receiver.url, { method: "POST", ...again });
      expect([response.status, await receiver.printed(goneOutput.length)]).toEqual([204, goneOutput]);
    });

    test("remembers the last 1000 events, and handles an event again that failed", async () => {
      const send = async (id: string, text = test_) =>
        (await fetch(receiver.url, { method: "POST", ...signed(text, [secret], 0, id) })).status;
      // Python closes the connection without a response.
      expect(await send("evt_failed", "1").catch(() => 500)).toBe(500);
      expect([await send("evt_failed", gone), await receiver.printed(goneOutput.length)]).toEqual([204, goneOutput]);
      // Few at once, because Python accepts five connections that wait.
      for (let first = 1; first <= 1000; first += 4)
        await Promise.all([0, 1, 2, 3].map((index) => send(`evt_${first + index}`)));
      expect([await send("evt_1", gone), await receiver.printed(0)]).toEqual([204, ""]);
      expect([await send("evt_failed", gone), await receiver.printed(goneOutput.length)]).toEqual([204, goneOutput]);
    });

    test("accepts nothing without a secret, because any client could sign then", async () => {
      if (file === "webhook.php") {
        const unset = await startReceiver(command, "");
        const response = await fetch(unset.url, { method: "POST", ...signed(body, [secret]) });
        await unset.stop();
        return expect(response.status).toBe(500);
      }
      const env = { ...process.env, SECRET: "" };
      const unset = Bun.spawn([...command], { cwd: folder, env, stdout: "ignore", stderr: "pipe" });
      expect(await unset.exited).toBe(1);
      expect(await unset.stderr.text()).toContain("set SECRET");
    });
  });
}
