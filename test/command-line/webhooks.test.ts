import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { allResources } from "../../src/resources/all.ts";
import { createConformance } from "../support/http/conformance.ts";
import { openWorkspace, type Workspace } from "../support/programs/command.ts";
import { type ReceivedEvent, startReceiver, type TestReceiver } from "../support/webhooks/receiver.ts";

const secretForm = /^whsec_[A-Za-z0-9+/]{43}=\n$/;

describe("webhook commands", () => {
  let workspace: Workspace;
  let receiver: TestReceiver;
  beforeEach(async () => {
    workspace = openWorkspace();
    receiver = await startReceiver();
    await workspace.data.addSite("main");
  });
  afterEach(() => Promise.all([workspace.close(), receiver.stop()]));

  const run = (...args: string[]) => workspace.run(["webhook", ...args]);
  const mustRun = (...args: string[]) => workspace.mustRun(["webhook", ...args]);
  const add = (...args: string[]) => mustRun("add", "--site", "main", receiver.url, ...args);
  const list = async (...args: string[]) => JSON.parse(await mustRun("list", "--json", ...args));
  const importBrands = (...names: string[]) => workspace.data.addBrands("main", ...names);

  test("add prints nothing but the secret, once; list and journal never print it", async () => {
    const { code, stdout, stderr } = await run("add", "--site", "main", receiver.url, "--resource", "brands");
    expect([code, stderr]).toEqual([0, "added webhook 1; save its secret now, because it can't be shown again\n"]);
    expect(stdout).toMatch(secretForm);
    const listed = { id: 1, site: "main", url: receiver.url, resources: ["brands"], status: "active", detail: "" };
    const delivered = { behind: 0, behindIsMinimum: false, cursor: "0.0", rewinds: 0 };
    const state = { ...delivered, failures: 0, failingSince: null, nextAt: null, paused: null, pausedBy: null };
    expect(await list()).toEqual([{ ...listed, ...state, key: null, created: expect.stringMatching(/^\d{4}-.*Z$/) }]);
    const outputs = [
      await mustRun("list"),
      JSON.stringify(await list()),
      await workspace.mustRun(["journal", "--system", "--json"]),
    ];
    for (const output of outputs) expect(output).not.toContain("whsec_");
    expect(outputs[0]).toMatch(
      /^ID +SITE +URL +RESOURCES +MADE BY +CREATED \(UTC\) +BEHIND +STATUS\n1 +main +http:\S+ +brands +operator +\S+ \S+ +0 +active\n$/,
    );
    expect(await workspace.mustRun(["journal", "--system"])).toContain(`create\twebhook\t1\t"${receiver.url}"`);
    const json = JSON.parse(await add("--json"));
    expect(json).toMatchObject({ id: 2, status: "active", secret: expect.stringMatching(/^whsec_/) });
    expect(await workspace.mustRun(["site", "show", "main"])).toContain("Webhooks   2\n");
  });

  test("test sends one event, signed with the printed secret, and exits with 1 if it fails", async () => {
    const secret = (await add()).trim();
    const sent = await run("test", "1");
    expect([sent.code, sent.stdout]).toEqual([0, ""]);
    expect(sent.stderr).toMatch(/^http:\S+ responded with 200 in \d+ ms\n$/);
    const [event] = await receiver.received(1);
    const verified = new Webhook(secret).verify(event?.body ?? "", event?.headers ?? {});
    expect(verified).toMatchObject({ type: "storefront.test", data: { Site: "main" } });
    createConformance(allResources).checkEvent(event as ReceivedEvent);
    receiver.respond(500);
    expect(await run("test", "1")).toMatchObject({ code: 1, stderr: expect.stringContaining("responded with 500") });
    await receiver.stop();
    expect(await run("test", "1", "--json")).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('"status": null'),
    });
    const attempts = JSON.parse(await mustRun("deliveries", "1", "--json"));
    expect(attempts.map(({ status }: { status: number | null }) => status)).toEqual([null, 500, 200]);
    expect(await mustRun("deliveries", "1")).toMatch(
      /^ATTEMPT +AT \(UTC\) +STATUS +MILLISECONDS +FAULT\n3 +\S+Z +none +\d+ +\S/,
    );
  });

  test("change delivers to another URL, retry only acts on a failure, and deliveries shows an attempt's request and response", async () => {
    const secret = (await add()).trim();
    const elsewhere = receiver.url.replace("hooks", "elsewhere");
    const changed = await run("change", "1", elsewhere);
    expect(changed).toMatchObject({ code: 0, stdout: "", stderr: `webhook 1 now delivers to ${elsewhere}\n` });
    expect((await list())[0]).toMatchObject({ url: elsewhere, behind: 0 });
    expect((await run("retry", "1")).stderr).toBe("webhook 1 isn't failing, so there's nothing to retry\n");
    await mustRun("test", "1");
    const shown = await mustRun("deliveries", "1", "--attempt", "1");
    expect(shown).toMatch(
      /^POST http:\S+elsewhere\ncontent-type: application\/json\n[\s\S]*storefront\.test[\s\S]*Response:\n/,
    );
    expect(shown).not.toContain(secret);
    expect(JSON.parse(await mustRun("deliveries", "1", "--attempt", "1", "--json"))).toMatchObject({ url: elsewhere });
    expect(await run("deliveries", "1", "--attempt", "9")).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining("attempt 9 aren't available") },
    });
  });

  test("after one rotation, events are signed with both secrets; after two, no longer with the first", async () => {
    const secrets = [(await add()).trim()];
    for (let i = 0; i < 2; i++) {
      const { stdout, stderr } = await run("rotate", "1");
      expect(stdout).toMatch(secretForm);
      expect(stderr).toContain("webhook 1 has a new secret");
      secrets.push(stdout.trim());
      await mustRun("test", "1");
    }
    const events = await receiver.received(2);
    const isVerified = events.map((event) => secrets.map((secret) => verifies(secret, event.headers, event.body)));
    expect(isVerified).toEqual([
      [true, true, false],
      [false, true, true],
    ]);
  });

  test("pause, resume, rewind and remove", async () => {
    await importBrands("a", "b", "c");
    await add();
    await add("--since", "0.0");
    expect((await list()).map(({ behind }: { behind: number }) => behind)).toEqual([0, 3]);
    expect((await run("pause", "1", "--as", "anna")).stderr).toBe("paused webhook 1\n");
    expect(await mustRun("list")).toMatch(/paused: paused by an operator \(operator:anna, \S+ \S+ UTC\)/);
    expect(await workspace.mustRun(["journal", "--system"])).toContain("operator:anna\tupdate\twebhook\t1");
    expect((await run("resume", "1")).stderr).toBe("resumed webhook 1\n");
    const rewound = await run("rewind", "1", "--since", "1h");
    expect(rewound).toMatchObject({ code: 0, stderr: "webhook 1 will continue after 0.0, 3 changes behind\n" });
    expect((await list())[0]).toMatchObject({ status: "active", behind: 3, rewinds: 1, cursor: "0.0" });
    expect((await run("remove", "1")).stderr).toBe("removed webhook 1\n");
    expect((await list()).map(({ id }: { id: number }) => id)).toEqual([2]);
    expect(await run("remove", "1")).toMatchObject({ code: 1, stderr: expect.stringContaining("unknown webhook 1") });
    expect(await workspace.data.check()).toEqual([]);
  });

  test("list shows one site's webhooks, and removing the site removes them", async () => {
    await workspace.data.addSite("other");
    await add();
    await mustRun("add", "--site", "other", receiver.url);
    expect((await list("--site", "other")).map(({ id }: { id: number }) => id)).toEqual([2]);
    await workspace.mustRun(["site", "remove", "other", "--yes"]);
    expect((await list()).map(({ id }: { id: number }) => id)).toEqual([1]);
  });

  test("journal prune lists webhooks that can't continue", async () => {
    await importBrands("a", "b", "c");
    await add("--since", "0.0");
    await add();
    const pruned = await workspace.run(["journal", "prune", "--before", "3", "--site", "main"]);
    expect(pruned.stderr).toBe(
      "webhook 1 can't continue, because the change at its cursor was deleted; it will send `storefront.gone` next\n",
    );
    const again = await workspace.run(["journal", "prune", "--before", "3", "--site", "main", "--json"]);
    expect(JSON.parse(again.stdout)).toEqual([{ journal: "main", deleted: 0, begins: 3, webhooks: [] }]);
  });

  const rejected: [string[], number, string][] = [
    [["add", "--site", "main", "http://erp.example/"], 1, "use https://"],
    [["add", "--site", "main", "https://10.0.0.7/"], 1, "isn't public"],
    [["add", "--site", "main", "https://erp.example/\u001b[31m"], 1, "control character"],
    [["add", "--site", "none", "https://erp.example/"], 1, "unknown site `none`"],
    [["add", "--site", "main", "https://93.184.216.34/", "--since", "0123456789ab.7"], 1, "is ahead of"],
    [["add", "--site", "main", "https://93.184.216.34/", "--since", "yesterday"], 2, "invalid --since `yesterday`"],
    [["add", "--site", "main", "https://93.184.216.34/", "--resource", "brand s"], 2, "unknown resource"],
    [["add", "--site", "main", "https://93.184.216.34/", "--webhook-allow", "all"], 2, "--webhook-allow"],
    [["add", "--site", "main"], 2, "missing required argument 'url'"],
    [["pause", "0"], 2, "invalid ID `0`"],
    [["pause", "7"], 1, "unknown webhook 7"],
    [["rewind", "7"], 2, "--since"],
    [["replay", "7"], 2, "did you mean `webhook rewind`?"],
  ];
  test("wrong arguments add no webhook", async () => {
    for (const [args, code, text] of rejected) {
      const ended = await run(...args);
      expect([args, ended.code, ended.stderr]).toEqual([args, code, expect.stringContaining(text)]);
      expect(ended.stderr).not.toContain("\u001b");
    }
    expect(await list()).toEqual([]);
  });

  test("deliveries may go to networks allowed by the option or the environment", async () => {
    await mustRun("add", "--site", "main", "https://10.0.0.7/", "--webhook-allow", "10.0.0.0/8");
    const env = { STOREFRONT_WEBHOOK_ALLOW: "192.168.0.0/16,fd00::/8" };
    await workspace.mustRun(["webhook", "add", "--site", "main", "https://[fd00::1]/"], { env });
    expect((await list()).map(({ url }: { url: string }) => url)).toEqual(["https://10.0.0.7/", "https://[fd00::1]/"]);
    expect((await run("resume", "1")).code).toBe(1);
    expect((await run("resume", "1", "--webhook-allow", "10.0.0.7/32")).code).toBe(0);
  });
});

function verifies(secret: string, headers: Readonly<Record<string, string>>, body: string): boolean {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}
