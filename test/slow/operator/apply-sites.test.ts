// A run of `apply` is killed before or after each of its writes. The next run completes it.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { hashApiKey } from "../../../src/model/api-key.ts";
import type { Engine } from "../../../src/model/engine.ts";
import type { IssuedSecret } from "../../../src/operator/sites/apply-sites.ts";
import { listKeys } from "../../../src/operator/sites/keys.ts";
import { completeRemovals } from "../../../src/operator/sites/site-removal.ts";
import { listSites } from "../../../src/operator/sites/sites.ts";
import { listWebhooks } from "../../../src/operator/webhooks/webhook-list.ts";
import { allResources } from "../../../src/resources/all.ts";
import { openEngine } from "../../../src/store/open.ts";
import { engines } from "../../support/engine/engines.ts";
import { applyFile, describeAll, planFile } from "../../support/sites/sites-as-code.ts";

const before = `
sites:
  - {name: gone, hostnames: [gone.example], keys: [{label: gone}], webhooks: [{url: "http://127.0.0.1:9/gone"}]}
  - name: garden
    default: true
    sandbox: true
    keys: [{label: till}, {label: old}]
    webhooks: [{url: "http://127.0.0.1:9/old"}, {url: "http://127.0.0.1:9/pause"}, {url: "http://127.0.0.1:9/resume", paused: true}]
`;
const after = `
sites:
  - name: garden
    hostnames: [gone.example]
    sandbox: false
    keys: [{label: till, can: [read]}, {label: new}]
    webhooks: [{url: "http://127.0.0.1:9/pause", paused: true}, {url: "http://127.0.0.1:9/resume", paused: false}, {url: "http://127.0.0.1:9/new"}]
  - name: toys
    default: true
    sandbox: true
    keys: [{label: till}]
    webhooks: [{url: "http://127.0.0.1:9/toys"}]
`;

const writes = [
  "commit",
  "commitAtomically",
  "saveWebhook",
  "deleteWebhook",
  "compareAndSetWebhook",
  "dropSite",
  "importSiteRows",
] as const;

/** An engine that dies at its write number `last`, from 1, either before or after doing it, and does nothing from then on. */
function mortal(engine: Engine, last: number, isDone: boolean) {
  let count = 0;
  const kill = () => Promise.reject(new Error("killed"));
  const wrapped = writes.map((name) => {
    const write = engine[name] as (...args: unknown[]) => Promise<unknown>;
    return [
      name,
      async (...args: unknown[]) => {
        count++;
        if (count < last) return write(...args);
        if (count === last && isDone) await write(...args);
        return kill();
      },
    ];
  });
  return { engine: { ...engine, ...Object.fromEntries(wrapped) } as Engine, hasDied: () => count >= last };
}

describe.each(engines)("killed runs on $name", (kind) => {
  beforeAll(() => kind.open());
  afterAll(() => kind.close());

  test("the next run completes it, and knows the secret of every key and webhook", async () => {
    const engine = await openEngine(await kind.newDatabase(), allResources);
    let kills = 0;
    for (const isDone of [false, true])
      for (let last = 1; ; last++) {
        await applyFile(engine, "sites: []", { prune: true });
        const issued: IssuedSecret[] = [];
        await applyFile(engine, before, { issued });
        const killed = mortal(engine, last, isDone);
        const work = applyFile(killed.engine, after, { prune: true, issued });
        if (!killed.hasDied()) await work.catch(() => {});
        if (!killed.hasDied()) {
          await work;
          break;
        }
        kills++;
        // Commands do this first. The copy of a sandbox is kept for a minute, unless its process removes it.
        await completeRemovals(engine, Date.now() + 61_000);
        await applyFile(engine, after, { prune: true, issued });
        expect((await planFile(engine, after, { prune: true })).lines).toEqual([]);
        expect((await planFile(engine, await describeAll(engine), { prune: true })).lines).toEqual([]);
        await requireKnownSecrets(engine, issued);
        expect(await engine.findInconsistencies()).toEqual([]);
      }
    expect(kills).toBeGreaterThan(20);
    await engine.close();
  }, 300_000);
});

async function requireKnownSecrets(engine: Engine, issued: readonly IssuedSecret[]): Promise<void> {
  const digests = issued.flatMap(({ key }) => (key === undefined ? [] : hashApiKey(key)));
  for (const { Digest } of await listKeys(engine)) expect(digests).toContain(Digest);
  for (const { ID, Site, status } of await listWebhooks(engine)) {
    expect(status).not.toBe("incomplete");
    const [stored] = await engine.readWebhookSecrets({ site: Number(Site), webhook: ID });
    expect(issued.map(({ secret }) => secret)).toContain(stored?.secret);
  }
  expect((await listSites(engine)).map(({ Name }) => Name).sort()).toEqual(["garden", "toys", "toys-sandbox"]);
}
