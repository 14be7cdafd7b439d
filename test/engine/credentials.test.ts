// The contract of every engine for credentials (src/model/engine.ts), tested with each engine.

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

  test("a credential is returned as it was stored", async () => {
    const stored = credential("a", { kind: "link", operator: 7, expiresAt: 2 ** 41 });
    await engine.saveCredential(stored, 0);
    expect(await engine.findCredential(stored.digest)).toEqual(stored);
    expect(await engine.findCredential(digest("another"))).toBeUndefined();
  });

  test("of several calls that consume a credential, one gets it", async () => {
    const stored = credential("b");
    await engine.saveCredential(stored, 0);
    const taken = await Promise.all([1, 2, 3].map(() => engine.consumeCredential(stored.digest)));
    expect(taken.filter(Boolean)).toEqual([stored]);
    expect(await engine.findCredential(stored.digest)).toBeUndefined();
  });

  test("expired credentials are deleted when the next one is stored", async () => {
    await engine.saveCredential(credential("c", { expiresAt: 500 }), 0);
    await engine.saveCredential(credential("d", { operator: 2 }), 500);
    expect(await engine.findCredential(digest("c"))).toBeUndefined();
    expect(await engine.findCredential(digest("d"))).toBeDefined();
  });

  test("an operator has a bounded number of a kind, the latest", async () => {
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

  test("all credentials of an operator are deleted, and those of others stay", async () => {
    await engine.saveCredential(credential("f", { operator: 4 }), 0);
    await engine.saveCredential(credential("g", { operator: 5 }), 0);
    await engine.deleteCredentials(4);
    expect(await engine.findCredential(digest("f"))).toBeUndefined();
    expect(await engine.findCredential(digest("g"))).toBeDefined();
  });

  test("they are in no dump", async () => {
    await engine.saveCredential(credential("h"), 0);
    const tables = new Set<string>();
    for await (const { table } of engine.dump()) tables.add(table);
    expect([...tables]).not.toContain("credentials");
  });

  test("a restore deletes all, because an ID may then belong to another operator", async () => {
    const folder = mkdtempSync(join(tmpdir(), "storefront-credentials-"));
    await backUp(engine, join(folder, "backup"), 1);
    await engine.saveCredential(credential("i"), 0);
    await restore(engine, join(folder, "backup"), join(folder, "kept"), 1);
    expect(await engine.findCredential(digest("i"))).toBeUndefined();
    rmSync(folder, { recursive: true, force: true });
  });

  test("a digest with SQL in it is only a text, which no credential has", async () => {
    await engine.saveCredential(credential("j"), 0);
    for (const digest of ["' or 1=1 --", "' or '1'='1", ":digest", "$1"]) {
      expect(await engine.findCredential(digest)).toBeUndefined();
      expect(await engine.consumeCredential(digest)).toBeUndefined();
    }
    expect(await engine.findCredential(digest("j"))).toBeDefined();
  });
});
