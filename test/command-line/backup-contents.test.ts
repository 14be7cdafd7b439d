// What a backup contains, even with a server writing meanwhile, and how a restore affects that server.

import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { readEntries as journalOf } from "../../src/operator/journal/journal-entries.ts";
import { readAllRows } from "../../src/store/database/read-all-rows.ts";
import { brandRequests } from "../support/programs/brand-requests.ts";
import { fetchWithKey, openWorkspace } from "../support/programs/command.ts";
import { dataOf } from "../support/programs/command-data.ts";
import { waitUntil } from "../support/time.ts";

const workspace = openWorkspace();
await workspace.data.addSite("main", { isDefault: true });
const key = await workspace.data.addKey("main");
const server = await workspace.serve(["--rate", "0"]);
afterAll(() => workspace.close());

const { send, create, nameOf, bodyOf } = brandRequests(() => ({ url: server.url, key }));

describe("backup and restore", () => {
  /** Returns all the site's records and its journal. */
  const dump = (database: string) =>
    dataOf(database).use(async (engine) => {
      const { rows } = await readAllRows(engine, 1);
      const entries = await Array.fromAsync(journalOf(engine, 1));
      return { records: [...rows], entries };
    });

  test("a backup during writes contains the data as of one moment", async () => {
    let isWriting = true;
    const writing = (async () => {
      for (let n = 0; isWriting; n++) await create(`During the backup ${n}`);
    })();
    const file = workspace.file("during.backup");
    await workspace.mustRun(["backup", file]);
    isWriting = false;
    await writing;
    const other = `sqlite:${workspace.file("other.db")}`;
    await workspace.mustRun(["restore", file, "--database", other]);
    expect(await dataOf(other).check()).toEqual([]);
    const [backedUp, now] = [await dump(other), await dump(workspace.database)];
    const last = backedUp.entries.at(-1)?.revision as number;
    expect(now.entries.slice(0, backedUp.entries.length)).toEqual(backedUp.entries);
    expect(now.records.filter(({ revision }) => revision <= last)).toEqual(backedUp.records);
    expect(existsSync(`${file}.part`)).toBe(false);
  });

  test("a restored backup has the same records, keys and journal", async () => {
    const file = workspace.file("same.backup");
    await workspace.mustRun(["backup", file]);
    const other = `sqlite:${workspace.file("same.db")}`;
    await workspace.mustRun(["restore", file, "--database", other]);
    expect(await dump(other)).toEqual(await dump(workspace.database));
    const copy = await workspace.serve(["--database", other]);
    expect((await fetchWithKey(`${copy.url}/restapi/brands.json`, key)).status).toBe(200);
    copy.kill();
    await copy.exited;
  });

  test("a running server whose database is restored reads the restored data, and old ETags no longer match", async () => {
    const id = await create("Before the backup");
    const file = workspace.file("live.backup");
    await workspace.mustRun(["backup", file]);
    const etag = (await send("GET", `brands/${id}.json`)).headers.get("ETag") as string;
    await send("PUT", "brands.json", { ID: id, Name: "After the backup" });
    const { stderr } = await workspace.run(["restore", file]);
    const read = await fetchWithKey(`${server.url}/restapi/brands/${id}.json`, key, {
      headers: { "If-None-Match": etag },
    });
    expect([read.status, (await bodyOf(read)).Name]).toEqual([200, "Before the backup"]);
    expect(read.headers.get("ETag")).not.toBe(etag);
    const kept = /the previous content is in (\S+)/.exec(stderr)?.[1] as string;
    await workspace.mustRun(["restore", kept]);
    expect(await nameOf(id)).toBe("After the backup");
  });

  test("every write during a restore is either in the kept file or in the restored database", async () => {
    const file = workspace.file("keep.backup");
    await workspace.mustRun(["backup", file]);
    const created: number[] = [];
    let isWriting = true;
    const writing = (async () => {
      while (isWriting) {
        const response = await send("POST", "brands.json", { Name: "Unlucky" });
        if (response.status === 201) created.push((await bodyOf(response)).ID);
      }
    })();
    await waitUntil(() => created.length > 20, "some writes");
    const { stderr } = await workspace.run(["restore", file]);
    const kept = /the previous content is in (\S+)/.exec(stderr)?.[1] as string;
    isWriting = false;
    await writing;
    const text = gunzipSync(readFileSync(kept)).toString();
    const ids = new Set(
      [...text.matchAll(/"table|\["records",\{"site_id":1,"resource":"brand","id":(\d+)/g)].map((m) => Number(m[1])),
    );
    for (const { ID } of await workspace.data.brands("main")) ids.add(ID);
    expect(created.filter((id) => !ids.has(id))).toEqual([]);
  });

  test("a backup that can't be written fails", async () => {
    const { code, stderr } = await workspace.run(["backup", workspace.file("nowhere/x.backup")]);
    expect([code, stderr.trim().split("\n").length]).toEqual([1, 1]);
    const full = await workspace.run(["backup", "/dev/full"]);
    if (process.platform === "linux") expect(full.stderr).toMatch(/can't write \/dev\/full: ENOSPC/);
    else expect(full.code).toBe(1);
  });
});
