// Sites as code: files are compared with a server and applied.

import { beforeEach, describe, expect, test } from "bun:test";
import { hashApiKey } from "../../src/model/api-key.ts";
import type { Engine } from "../../src/model/engine.ts";
import { makeSandbox } from "../../src/operator/sandbox/make-sandbox.ts";
import { applySites, type IssuedSecret, planSites } from "../../src/operator/sites/apply-sites.ts";
import { createKey, listKeys, revokeKey, rotateKey, setKey } from "../../src/operator/sites/keys.ts";
import { removeSite } from "../../src/operator/sites/site-removal.ts";
import { createSite, getSite, listSites, setSite } from "../../src/operator/sites/sites.ts";
import { createWebhook } from "../../src/operator/webhooks/webhook-creation.ts";
import { listWebhooks } from "../../src/operator/webhooks/webhook-list.ts";
import { pauseWebhook, removeWebhook, resumeWebhook } from "../../src/operator/webhooks/webhooks.ts";
import { webhook as webhookResource } from "../../src/resources/webhook.ts";
import { commitSystemChanges, toCreateIntent, toInstant } from "../../src/system/system-changes.ts";
import { toDeliveryPolicy } from "../../src/webhooks/address-policy.ts";
import { engines, useTwoEngines } from "../support/engine/engines.ts";
import { applyFile, describeAll, planFile, readText } from "../support/sites/sites-as-code.ts";

const policy = toDeliveryPolicy([]);
const thrown = (work: Promise<unknown>) => work.then(() => undefined).catch((error) => error.message);

const file = `
sites:
  - name: garden
    hostnames: [garden.example, www.garden.example]
    default: true
    sandbox: true
    keys:
      - {label: till, can: [brands:write], from: [203.0.113.0/24], rate: 20, expires: 90d}
    webhooks:
      - {url: "http://127.0.0.1:9/a", resources: [brands]}
      - {url: "http://127.0.0.1:9/b", paused: true}
  - name: toys
    suspended: true
    keyWebhooks: false
`;

describe.each(engines)("sites as code on $name", (kind) => {
  let engine: Engine;
  let other: Engine;
  useTwoEngines(kind, (first, second) => {
    engine = first;
    other = second;
  });
  const settle = async () => {
    for (const { Name } of (await listSites(engine)).filter(({ SandboxOf }) => SandboxOf === ""))
      await removeSite(engine, Name, 1);
  };
  beforeEach(settle);
  const addHook = async (site: string, url: string, key?: string) =>
    (
      await createWebhook(
        engine,
        await getSite(engine, site),
        { url, resources: [], since: "now", ...(key ? { key } : {}) },
        policy,
        Date.now(),
      )
    ).webhook;
  const addKey = async (site: string, settings: Parameters<typeof createKey>[2]) =>
    createKey(engine, await getSite(engine, site), settings, Date.now());
  const differences = async (text: string, prune = true) => (await planFile(engine, text, { prune })).lines;

  test("a file creates sites, sandboxes, keys and webhooks, and then changes nothing", async () => {
    const issued: IssuedSecret[] = [];
    expect(await applyFile(engine, file, { issued })).toHaveLength(6);
    expect(await differences(file)).toEqual([]);
    expect(await differences(await describeAll(engine))).toEqual([]);
    const keys = await listKeys(engine);
    expect(issued.flatMap(({ key }) => (key ? hashApiKey(key) : [])).sort()).toEqual(
      keys.map(({ Digest }) => Digest).sort(),
    );
    expect(
      keys.map(({ Scope, Networks, Rate, endsAt, Created }) => [Scope, Networks, Rate, endsAt - Date.parse(Created)]),
    ).toEqual([["brands:write", "203.0.113.0/24", "20", 90 * 86_400_000]]);
    const webhooks = await listWebhooks(engine);
    expect(webhooks.map(({ siteName, status, Resources }) => [siteName, status, Resources])).toEqual([
      ["garden", "active", "brands"],
      ["garden", "paused", ""],
    ]);
    for (const [at, { Site, ID }] of webhooks.entries()) {
      const [secret] = await engine.readWebhookSecrets({ site: Number(Site), webhook: ID });
      expect(issued.filter((one) => one.secret)[at]?.secret).toBe(secret?.secret as string);
    }
  });

  test("two runs at once create nothing twice", async () => {
    const runs = [
      { on: engine, issued: [] as IssuedSecret[] },
      { on: other, issued: [] as IssuedSecret[] },
    ];
    const plans = await Promise.all(runs.map(({ on, issued }) => planFile(on, file, { issued })));
    const results = await Promise.allSettled(plans.map(({ apply }) => apply()));
    expect(results.some(({ status }) => status === "fulfilled")).toBe(true);
    // One may have found the other at work on a sandbox or webhook. The next run completes what's left.
    await applyFile(engine, file);
    expect(await differences(file)).toEqual([]);
    expect((await listSites(engine)).map(({ Name }) => Name).sort()).toEqual(["garden", "garden-sandbox", "toys"]);
    expect(await listKeys(engine)).toHaveLength(1);
    expect((await listWebhooks(engine)).map(({ status }) => status)).toEqual(["active", "paused"]);
  });
  if (kind.name === "PostgreSQL") return;

  const changes: [string, () => Promise<unknown>][] = [
    [
      "a site is added, renamed and suspended",
      async () => {
        await createSite(engine, "new", { hostnames: ["new.example"] }, 1);
        await setSite(engine, "garden", { name: "park", isDefault: false, isSuspended: true }, 1);
      },
    ],
    [
      "keys have no label, or the same one",
      async () => {
        for (const label of ["", "", "till", "tab\tand\nline", "no", "123", "a: b # c"])
          await addKey("garden", { label });
      },
    ],
    [
      "a key is rotated with an overlap, and the new one again",
      async () => {
        const [key] = await listKeys(engine);
        const next = await rotateKey(engine, key?.Prefix as string, 86_400_000, Date.now());
        await rotateKey(engine, next.key, 86_400_000, Date.now());
      },
    ],
    [
      "a rotated key is revoked while the old one still works",
      async () => {
        const [key] = await listKeys(engine);
        await revokeKey(
          engine,
          (await rotateKey(engine, key?.Prefix as string, 86_400_000, Date.now())).key,
          Date.now(),
        );
      },
    ],
    [
      "a key has expired or been revoked",
      async () => {
        await addKey("garden", { label: "old", expiresAt: 1 });
        await revokeKey(engine, (await addKey("garden", { label: "till" })).key, 1);
      },
    ],
    [
      "a key has a scope and rights, or webhooks:write",
      async () => {
        await addKey("garden", { label: "a", rights: ["read", "brands:write"] });
        await addKey("garden", { label: "b", rights: ["webhooks:write", "changes:read"] });
        await addKey("garden", { label: "c", networks: ["2001:db8::1", "10.0.0.0/8"] });
      },
    ],
    [
      "webhooks have the same URL, or are made by a key",
      async () => {
        await addHook("garden", "http://127.0.0.1:9/key", "sfk_AbCd1234");
        for (const url of ["key", "same", "same"]) await addHook("garden", `http://127.0.0.1:9/${url}`);
      },
    ],
    [
      "a webhook is incomplete",
      async () => {
        const values = {
          Site: String((await getSite(engine, "garden")).ID),
          URL: "http://127.0.0.1:9/x",
          Created: toInstant(1),
        };
        await commitSystemChanges(engine, () => [toCreateIntent(webhookResource, values, 1)]);
      },
    ],
    [
      "a label has characters that terminals don't show",
      async () => {
        for (const label of ["a \u202e b", "\u2028", "\u007f"]) await addKey("garden", { label });
      },
    ],
    [
      "the server has paused a webhook",
      async () =>
        pauseWebhook(engine, (await listWebhooks(engine))[0]?.ID as number, 1, "the receiver responded with 410"),
    ],
    [
      "a webhook is paused, and another resumed",
      async () => {
        const [first, second] = await listWebhooks(engine);
        await pauseWebhook(engine, first?.ID as number, 1);
        await resumeWebhook(engine, second?.ID as number, policy, 1);
      },
    ],
    [
      "the sandbox is renewed, and another one is made",
      async () => {
        await setSite(engine, "toys", { isSuspended: false }, 1);
        for (const name of ["garden", "toys"]) await makeSandbox(engine, name, { now: Date.now });
      },
    ],
  ];
  test.each(changes)("what describe writes is what's there: %s", async (_, change) => {
    await applyFile(engine, file);
    await change();
    const described = await describeAll(engine);
    expect(await differences(described, false)).toEqual([]);
    await applyFile(engine, described, { prune: true });
    expect(await describeAll(engine)).toBe(described);
  });

  test("drift is shown in one line each, and undone", async () => {
    await applyFile(engine, file);
    const before = await describeAll(engine);
    await setSite(engine, "garden", { hostnames: ["garden.example", "b.example"], isDefault: false }, 1);
    await setSite(engine, "toys", { isDefault: true, isSuspended: false, allowsWebhooksByKey: true }, 1);
    const [key] = await listKeys(engine);
    await setKey(engine, key?.Prefix as string, { rights: ["read"], networks: [], rate: null, expiresAt: null }, 1);
    const [first, second] = await listWebhooks(engine);
    await pauseWebhook(engine, first?.ID as number, 1);
    await removeWebhook(engine, second?.ID as number, 1);
    const expires = /expires: "?([^"\n]+)/.exec(before)?.[1];
    const lines = await applyFile(engine, before);
    expect(lines).toEqual([
      "~ site garden: hostnames +www.garden.example -b.example; default false → true",
      `~ key till at garden: can +brands:write -read; from +203.0.113.0/24; rate default → 20; expires never → ${expires}`,
      "~ webhook http://127.0.0.1:9/a at garden: paused true → false",
      "+ webhook http://127.0.0.1:9/b at garden: resources []; paused true",
      "~ site toys: default true → false; suspended false → true; keyWebhooks true → false",
    ]);
    expect(await describeAll(engine)).toBe(before);
  });

  test("what a file doesn't mention is left alone", async () => {
    await applyFile(engine, file);
    const before = await describeAll(engine);
    for (const text of ["sites: []", "sites: [{name: garden}, {name: toys, keys: []}]"]) {
      await applyFile(engine, text);
      expect(await describeAll(engine)).toBe(before);
    }
    await applyFile(engine, "sites: [{name: garden, keys: [{label: till}]}, {name: toys}]", { prune: true });
    expect(await describeAll(engine)).toBe(before);
  });

  test("pruning removes sites, sandboxes, keys and webhooks, and only those of lists that the file has", async () => {
    await applyFile(engine, file);
    const [webhook] = await listWebhooks(engine);
    await addHook("garden", "http://127.0.0.1:9/key", "sfk_AbCd1234");
    const text = "sites: [{name: garden, keys: [], webhooks: [], sandbox: false}]";
    expect((await planFile(engine, text)).leftAlone).toBe(5);
    expect(await applyFile(engine, text)).toEqual([]);
    const [key] = await listKeys(engine);
    expect(await applyFile(engine, text, { prune: true })).toEqual([
      "- site toys",
      "- sandbox of garden",
      `- key till at garden: prefix ${key?.Prefix}`,
      "- webhook http://127.0.0.1:9/a at garden",
      "- webhook http://127.0.0.1:9/b at garden",
    ]);
    expect((await listSites(engine)).map(({ Name }) => Name)).toEqual(["garden"]);
    expect((await listKeys(engine)).map(({ Revoked }) => Revoked !== "")).toEqual([true]);
    expect((await listWebhooks(engine)).map(({ Key }) => Key)).toEqual(["sfk_AbCd1234"]);
    expect(await engine.readWebhookStates([{ site: Number(webhook?.Site), webhook: webhook?.ID as number }])).toEqual(
      [],
    );
    expect(await engine.findInconsistencies()).toEqual([]);
  });

  test("hostnames and the default site move between sites, also from a removed one", async () => {
    await createSite(engine, "a", { hostnames: ["x.example", "y.example"], isDefault: true }, 1);
    await createSite(engine, "b", { hostnames: ["z.example"] }, 1);
    await createSite(engine, "gone", { hostnames: ["gone.example"] }, 1);
    const text =
      "sites: [{name: b, hostnames: [x.example, gone.example], default: true}, {name: a, hostnames: [z.example]}]";
    expect(await thrown(planFile(engine, text))).toContain(
      "the hostname `gone.example` already belongs to the site `gone`",
    );
    expect(await applyFile(engine, text, { prune: true })).toContain(
      "~ site a: hostnames +z.example -x.example -y.example; default true → false",
    );
    expect((await listSites(engine)).map(({ Name, Hostnames, Default }) => [Name, Hostnames, Default])).toEqual([
      ["a", "z.example", ""],
      ["b", "x.example gone.example", "yes"],
    ]);
  });

  const mistakes: [string, string, () => Promise<unknown>, RegExp][] = [
    [
      "a hostname is taken",
      "[{name: n, hostnames: [garden.example]}]",
      async () => {},
      /:1:31: the hostname `garden\.example` already belongs to the site `garden`; to rename that site, use `site set garden --name n`$/,
    ],
    [
      "two sites in the file have a hostname",
      "[{name: n, hostnames: [a.example]}, {name: m, hostnames: [A.example]}]",
      async () => {},
      /:1:66: the hostname `a\.example` already belongs to the site `n`$/,
    ],
    [
      "the site is a sandbox",
      "[{name: garden-sandbox}]",
      async () => {},
      /`garden-sandbox` is a sandbox.*; change `garden` instead$/,
    ],
    [
      "the sandbox's name is taken",
      "[{name: toys, sandbox: true}, {name: toys-sandbox}]",
      async () => {},
      /another site is already called `toys-sandbox`/,
    ],
    [
      "a label is ambiguous",
      "[{name: garden, keys: [{label: till}]}]",
      () => addKey("garden", { label: "till" }),
      /:1:39: 2 keys at garden have this label;.* add the `prefix`/,
    ],
    [
      "a prefix is unknown",
      "[{name: garden, keys: [{prefix: sfk_AbCd1234}]}]",
      async () => {},
      /:1:40: garden has no key with this prefix;/,
    ],
    [
      "a URL is ambiguous",
      "[{name: garden, webhooks: [{url: 'http://127.0.0.1:9/a'}]}]",
      () => addHook("garden", "http://127.0.0.1:9/a"),
      /2 webhooks at garden have this url;.* add the `id`/,
    ],
    [
      "a webhook's ID is unknown",
      "[{name: garden, webhooks: [{url: 'http://127.0.0.1:9/a', id: 99}]}]",
      async () => {},
      /garden has no webhook with this id;/,
    ],
    [
      "a webhook's resources differ",
      "[{name: garden, webhooks: [{url: 'http://127.0.0.1:9/a', resources: [locations]}]}]",
      async () => {},
      /this webhook sends brands, which can't be changed; remove it with `webhook remove \d+`/,
    ],
    [
      "there are too many webhooks",
      `[{name: toys, webhooks: [${Array.from({ length: 21 }, (_, n) => `{url: 'http://127.0.0.1:9/${n}'}`)}]}]`,
      async () => {},
      /toys can't have more than 20 webhooks/,
    ],
  ];
  test.each(mistakes)("a plan is rejected if %s", async (_, sites, prepare, message) => {
    await applyFile(engine, file);
    await prepare();
    const before = await describeAll(engine);
    expect(await thrown(applyFile(engine, `sites: ${sites}`))).toMatch(message);
    expect(await describeAll(engine)).toBe(before);
  });

  test("a prefix means one of two keys, also once that has been rotated, and an ID means a webhook whose URL changes", async () => {
    await createSite(engine, "garden", {}, 1);
    const { key, record } = await addKey("garden", { label: "till" });
    await addKey("garden", { label: "till" });
    const webhook = await addHook("garden", "http://127.0.0.1:9/a");
    await rotateKey(engine, key, 0, Date.now());
    const text = `sites: [{name: garden, keys: [{prefix: ${record.Prefix}, label: ERP}], webhooks: [{url: "http://127.0.0.1:9/b", id: ${webhook.ID}}]}]`;
    expect(await applyFile(engine, text)).toEqual([
      "~ key till at garden: label till → ERP",
      "~ webhook http://127.0.0.1:9/a at garden: url http://127.0.0.1:9/a → http://127.0.0.1:9/b",
    ]);
    expect((await listKeys(engine)).map(({ Label }) => Label).sort()).toEqual(["ERP", "till", "till"]);
    expect((await listWebhooks(engine)).map(({ ID, URL: url }) => [ID, url])).toEqual([
      [webhook.ID, "http://127.0.0.1:9/b"],
    ]);
  });

  test("an incomplete webhook is replaced, and a key that would have expired isn't created", async () => {
    await createSite(engine, "garden", {}, 1);
    const values = {
      Site: String((await getSite(engine, "garden")).ID),
      URL: "http://127.0.0.1:9/x",
      Created: toInstant(1),
    };
    await commitSystemChanges(engine, () => [toCreateIntent(webhookResource, values, 1)]);
    const text =
      "sites: [{name: garden, webhooks: [{url: 'http://127.0.0.1:9/x'}], keys: [{label: old, expires: 2020-01-01}]}]";
    expect(await applyFile(engine, text)).toEqual([
      "- webhook http://127.0.0.1:9/x at garden: incomplete",
      "+ webhook http://127.0.0.1:9/x at garden",
    ]);
    expect((await listWebhooks(engine)).map(({ status }) => status)).toEqual(["active"]);
    expect(await differences(text)).toEqual([]);
  });

  test("pruning a key that was rotated also revokes the one it replaces", async () => {
    await createSite(engine, "garden", {}, 1);
    const { key } = await addKey("garden", { label: "till" });
    await rotateKey(engine, key, 86_400_000, Date.now());
    expect(await applyFile(engine, "sites: [{name: garden, keys: []}]", { prune: true })).toHaveLength(1);
    expect((await listKeys(engine)).map(({ Revoked }) => Revoked !== "")).toEqual([true, true]);
  });

  test("an expired key is replaced", async () => {
    await createSite(engine, "garden", {}, 1);
    await addKey("garden", { label: "till", expiresAt: 1 });
    const text = "sites: [{name: garden, keys: [{label: till, expires: 90d}]}]";
    expect(await applyFile(engine, text)).toEqual(["+ key till at garden: can write; expires 90d"]);
    expect(await differences(text)).toEqual([]);
  });

  test("secrets are handed over once, and only used if nothing that matters has changed since", async () => {
    await createSite(engine, "garden", {}, 1);
    const text = "sites: [{name: garden, keys: [{label: till}]}, {name: gone, suspended: true}]";
    const meanwhile = async (change: () => Promise<unknown>) => {
      const { sites, mistakes } = await readText(text);
      const options = { prune: false, allowRemovals: 0, policy, mistakes };
      const plan = await planSites(engine, sites, options);
      const issued: IssuedSecret[] = [];
      let isChanged = false;
      const racing: Engine = {
        ...engine,
        commit: async (...args) => {
          if (!isChanged) await change();
          isChanged = true;
          return engine.commit(...args);
        },
      };
      const work = applySites(racing, sites, options, plan, (secrets) => void issued.push(...secrets));
      return { fault: await thrown(work.then((finish) => finish())), issued };
    };
    const harmless = await meanwhile(() => addKey("garden", { label: "other" }));
    expect(harmless).toMatchObject({ fault: undefined, issued: [{ label: "till" }] });
    const digests = (await listKeys(engine)).map(({ Digest }) => Digest);
    expect(digests).toContain(hashApiKey(harmless.issued[0]?.key as string));
    await removeSite(engine, "gone", 1);
    await revokeKey(engine, harmless.issued[0]?.key as string, 1);
    const lost = await meanwhile(() => addKey("garden", { label: "till" }));
    expect(lost.fault).toMatch(/the keys and secrets that were handed over don't work/);
    expect((await listSites(engine)).map(({ Name }) => Name)).toEqual(["garden"]);
  });

  test("nothing is applied that wasn't in the confirmed plan", async () => {
    await createSite(engine, "garden", { hostnames: ["garden.example"] }, 1);
    const { apply } = await planFile(
      engine,
      "sites: [{name: garden, suspended: true}, {name: toys, hostnames: [a.example]}]",
    );
    await setSite(other, "garden", { isSuspended: true }, 1);
    await createSite(other, "toys", { hostnames: ["b.example"] }, 1);
    expect(await thrown(apply())).toMatch(
      /would have to be done too: ~ site toys: hostnames \+a\.example -b\.example; run the command again$/,
    );
    expect((await listSites(engine)).map(({ Hostnames }) => Hostnames)).toEqual(["garden.example", "b.example"]);
    const removal = await planFile(engine, "sites: [{name: garden}]", { prune: true, allowRemovals: 0 });
    await other.commit([
      {
        site: (await getSite(other, "toys")).ID,
        resource: "brand",
        operation: "create",
        valuesJson: '{"Name":"A"}',
        actor: "operator",
        at: 1,
      },
    ]);
    expect(await thrown(removal.apply())).toMatch(/this would remove sites that have records or keys in use \(toys\)/);
  });
});
