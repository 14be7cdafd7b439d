// What every engine does with credentials (src/model/engine.ts).

import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Credential, maxCredentials } from "../../src/model/credentials.ts";
import type { Engine } from "../../src/model/engine.ts";
import { backUp, restore } from "../../src/operator/backup/backup.ts";
import { engines, useEngine } from "../support/engine/engines.ts";

const digest = (text: string) => Bun.SHA256.hash(text, "hex");
const credential = (text: string, values: Partial<Credential> = {}): Credential => ({
  digest: digest(text),
  kind: "session",
  operator: 1,
  expiresAt: 10_000,
  ...values,
});

describe.each(engines)("on $name", (kind) => {
  let engine: Engine;
  useEngine(kind, (opened) => {
    engine = opened;
  });

  test("credential: returned as stored", async () => {
    const stored = credential("a", { kind: "link", operator: 7, expiresAt: 2 ** 41 });
    await engine.saveCredential(stored, 0);
    expect(await engine.findCredential(stored.digest)).toEqual(stored);
    expect(await engine.findCredential(digest("another"))).toBeUndefined();
  });

  test("credential: only one of several consumers gets it", async () => {
    const stored = credential("b");
    await engine.saveCredential(stored, 0);
    const taken = await Promise.all([1, 2, 3].map(() => engine.consumeCredential(stored.digest)));
    expect(taken.filter(Boolean)).toEqual([stored]);
    expect(await engine.findCredential(stored.digest)).toBeUndefined();
  });

  test("expired credentials: deleted when the next is stored", async () => {
    await engine.saveCredential(credential("c", { expiresAt: 500 }), 0);
    await engine.saveCredential(credential("d", { operator: 2 }), 500);
    expect(await engine.findCredential(digest("c"))).toBeUndefined();
    expect(await engine.findCredential(digest("d"))).toBeDefined();
  });

  test("credentials: the latest few of each kind per operator", async () => {
    for (let i = 0; i < maxCredentials + 3; i++)
      await engine.saveCredential(credential(`e${i}`, { operator: 3, expiresAt: 1000 + i }), 0);
    await engine.saveCredential(credential("e link", { operator: 3, kind: "link" }), 0);
    const kept = await Promise.all(
      Array.from({ length: maxCredentials + 3 }, (_, i) => engine.findCredential(digest(`e${i}`))),
    );
    expect(kept.map((one) => one !== undefined)).toEqual([
      ...Array(3).fill(false),
      ...Array(maxCredentials).fill(true),
    ]);
    expect(await engine.findCredential(digest("e link"))).toBeDefined();
  });

  test("deletion: all of an operator's, nobody else's", async () => {
    await engine.saveCredential(credential("f", { operator: 4 }), 0);
    await engine.saveCredential(credential("g", { operator: 5 }), 0);
    await engine.deleteCredentials(4);
    expect(await engine.findCredential(digest("f"))).toBeUndefined();
    expect(await engine.findCredential(digest("g"))).toBeDefined();
  });

  test("dumps: no credentials", async () => {
    await engine.saveCredential(credential("h"), 0);
    const tables = new Set<string>();
    for await (const { table } of engine.dump()) tables.add(table);
    expect([...tables]).not.toContain("credentials");
  });

  test("restore: deletes all, because an ID may then be another operator's", async () => {
    const folder = mkdtempSync(join(tmpdir(), "storefront-credentials-"));
    await backUp(engine, join(folder, "backup"), 1);
    await engine.saveCredential(credential("i"), 0);
    await restore(engine, join(folder, "backup"), join(folder, "kept"), 1);
    expect(await engine.findCredential(digest("i"))).toBeUndefined();
    rmSync(folder, { recursive: true, force: true });
  });

  test("digest with SQL in it: just a text that no credential has", async () => {
    await engine.saveCredential(credential("j"), 0);
    for (const digest of ["' or 1=1 --", "' or '1'='1", ":digest", "$1"]) {
      expect(await engine.findCredential(digest)).toBeUndefined();
      expect(await engine.consumeCredential(digest)).toBeUndefined();
    }
    expect(await engine.findCredential(digest("j"))).toBeDefined();
  });
});
