// Secrets that the database, a backup, the log, the metrics or a receiver of webhooks could give away. The threat model is in SECURITY.md.

import { beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, readFileSync, statSync } from "node:fs";
import { createApiKey } from "../../../src/model/api-key.ts";
import { engines } from "../../support/engine/engines.ts";
import { fetchWithKey, useWorkspace, type Workspace } from "../../support/programs/command.ts";
import { startReceiver } from "../../support/webhooks/receiver.ts";
import { openClient } from "../../support/wire/client.ts";

describe.each(engines)("on $name", (kind) => {
  let workspace: Workspace;
  let key: string;
  useWorkspace(kind, (opened) => {
    workspace = opened;
  });
  beforeEach(async () => {
    key = (
      await workspace.mustRun(["site", "add", "garden", "--hostname", "garden.example", "--default", "--with-key"])
    ).trim();
    await workspace.mustRun(["import", "--site", "garden", "brands", "-"], { stdin: "Name\nConfidential\n" });
  });

  const addWebhook = async (url: string) =>
    (await workspace.mustRun(["webhook", "add", "--site", "garden", url, "--since", "0.0"])).trim();

  test("backups and site files have records, digests of keys and secrets of webhooks, no key, and only their owner can read them", async () => {
    const secret = await addWebhook("http://127.0.0.1:9/");
    await workspace.mustRun(["backup", workspace.file("all")]);
    await workspace.mustRun(["export-site", "garden", workspace.file("one")]);
    for (const file of ["all", "one"].map(workspace.file)) {
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const text = new TextDecoder().decode(Bun.gunzipSync(readFileSync(file)));
      for (const part of ["Confidential", Bun.SHA256.hash(key, "hex"), key.slice(0, 12), secret])
        expect(text).toContain(part);
      expect(text).not.toContain(key.slice(12));
    }
  });

  test("the database has records, deleted ones too, digests of keys and secrets of webhooks, and no key", async () => {
    const secret = await addWebhook("http://127.0.0.1:9/");
    await workspace.mustRun(["delete", "--site", "garden", "brands", "1"]);
    const rows = await Promise.all(
      ["journal", "records", "webhook_secrets"].map((table) =>
        kind.select(workspace.database, `select * from ${table}`),
      ),
    );
    const text = JSON.stringify(rows);
    for (const part of ["Confidential", Bun.SHA256.hash(key, "hex"), secret]) expect(text).toContain(part);
    expect(text).not.toContain(key.slice(12));
  });

  test("what another program writes into the database is served, and `check` finds what the history does not have", async () => {
    await kind.run(workspace.database, "update records set body = replace(body, 'Confidential', 'Forged')");
    const server = await workspace.serve();
    expect(await (await fetchWithKey(`${server.url}/restapi/brands/1.json`, key)).text()).toContain('"Forged"');
    expect((await workspace.run(["check"])).code).toBe(1);
  });

  test("no line of the log has a key, a secret of a webhook or a record, wherever clients put the key", async () => {
    const receiver = await startReceiver();
    const secret = await addWebhook(receiver.url);
    const server = await workspace.serve(["--log", "debug", "--slow-ms", "1"]);
    const url = `${server.url}/restapi/brands.json`;
    const sandboxKey = createApiKey(true).key;
    for (const one of [key, sandboxKey]) {
      await fetchWithKey(`${url}?key=${one}`, one);
      await fetchWithKey(url, `Bearer ${one}`);
      await fetchWithKey(`${server.url}/restapi/${one}.json`, one, { method: "POST", body: '{"Name":"Confidential"}' });
      const misplaced = await fetch(url, { headers: { Authorization: `Bearer ${one}`, "X-Request-Id": one } });
      expect(misplaced.headers.get("X-Request-Id")).not.toContain(one);
      await fetch(`${server.url}/operator/${one}`);
      const unreadable = [`${one} / HTTP/1.1\r\n`, `GET /${one} HTTP/9\r\n`, `GET / HTTP/1.1\r\n${one}\r\n`];
      for (const bytes of [...unreadable, `GET / HTTP/1.1\r\nContent-Length: ${one}\r\n`]) {
        const client = await openClient(Number(new URL(server.url).port));
        client.send(`${bytes}X-API-AUTH: ${one}\r\n\r\n`);
        await client.ended();
        client.socket.destroy();
      }
    }
    await receiver.received(1);
    server.kill();
    await server.exited;
    await receiver.stop();
    expect(server.stderr().split("\n").length).toBeGreaterThan(8);
    for (const shown of [key.slice(0, 12), sandboxKey.slice(0, 17)])
      expect(server.stderr()).toContain(`/restapi/${shown}...`);
    for (const hidden of [key.slice(12, 30), sandboxKey.slice(17, 35), secret, "whsec_", "Confidential"])
      expect(server.stderr()).not.toContain(hidden);
  });

  test("without a session the admin listener has metrics alone, which name no site, host, key, record or receiver", async () => {
    const secret = await addWebhook("http://127.0.0.1:9/hooks");
    const server = await workspace.serve(["--admin", "127.0.0.1:0"]);
    await fetchWithKey(`${server.url}/restapi/brands.json`, key, { headers: { Host: "garden.example" } });
    const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text();
    expect(metrics).toContain('route="/restapi/brands.json"');
    for (const hidden of ["garden", key.slice(0, 12), secret, "Confidential", "127.0.0.1", "/hooks"])
      expect(metrics).not.toContain(hidden);
    for (const path of ["/restapi/brands.json", "/docs", "/backup"])
      expect((await fetchWithKey(`${server.adminUrl}${path}`, key)).status).toBe(404);
    expect((await fetchWithKey(`${server.adminUrl}/operator/sites`, key)).status).toBe(401);
  });

  test("a receiver gets the changes of its site, and no key, secret or change of another site", async () => {
    const receiver = await startReceiver();
    const secret = await addWebhook(receiver.url);
    const other = (await workspace.mustRun(["site", "add", "other", "--with-key"])).trim();
    await workspace.mustRun(["import", "--site", "other", "brands", "-"], { stdin: "Name\nTheirs\n" });
    const server = await workspace.serve();
    await fetchWithKey(`${server.url}/restapi/brands.json`, key, { method: "POST", body: '{"Name":"Last"}' });
    await receiver.received(1, ({ body }) => body.includes('"Last"'));
    await receiver.stop();
    const all = JSON.stringify(receiver.events);
    expect(all).toContain("Confidential");
    for (const hidden of ["Theirs", "whsec_", secret.slice(6), key.slice(0, 12), other.slice(0, 12), "operator:"])
      expect(all).not.toContain(hidden);
  });

  if (kind.name === "SQLite") {
    test("a new database file can be read by its owner only, and an existing file keeps its mode", async () => {
      await workspace.serve();
      const path = workspace.database.replace("sqlite:", "");
      const modes = () => ["", "-wal", "-shm"].map((end) => statSync(path + end).mode & 0o777);
      expect(modes()).toEqual([0o600, 0o600, 0o600]);
      chmodSync(path, 0o640);
      await workspace.mustRun(["site", "add", "second"]);
      expect(modes()[0]).toBe(0o640);
    });
  }
});
