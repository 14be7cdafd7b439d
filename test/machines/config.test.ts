// Settings that are checked together, or whose values are words (src/config.ts).

import { describe, expect, test } from "bun:test";
import { readConfig } from "../../src/config.ts";

describe("how many requests a key may make at once", () => {
  test.each([
    [{}, 0, 1],
    [{ RATE: "0" }, 0, 1],
    [{ RATE: "1" }, 1, 2],
    [{ RATE: "50" }, 50, 100],
    [{ RATE: "1000000" }, 1_000_000, 2_000_000],
    [{ RATE: "50", BURST: "3" }, 50, 3],
    [{ RATE: "50", BURST: "10000000" }, 50, 10_000_000],
  ])("with %j at a rate of %i is %i", (settings, rate, burst) => {
    expect(readConfig(settings)).toMatchObject({ rate, burst });
  });

  test.each([
    { RATE: "1", BURST: "10000001" },
    { BURST: "0" },
    { BURST: "10000001" },
    { BURST: "-1" },
    { BURST: "x" },
    { BURST: "1.5" },
  ])("cannot be %j", (settings) => {
    expect(() => readConfig(settings)).toThrow(
      /--burst \(STOREFRONT_BURST\) must be a whole number from 1 to 10000000/,
    );
  });

  test("rejected without a rate, because it would have no effect", () => {
    for (const settings of [{ BURST: "5" }, { RATE: "0", BURST: "5" }])
      expect(() => readConfig(settings)).toThrow(
        "--burst (STOREFRONT_BURST) only works with --rate (STOREFRONT_RATE); set both",
      );
  });
});

test("--mcp: agents are served unless it's `none`, and other words are rejected", () => {
  expect([{}, { MCP: "public" }, { MCP: "none" }].map((settings) => readConfig(settings).mcp)).toEqual([
    true,
    true,
    false,
  ]);
  for (const MCP of ["off", "no", "None", "0", "/mcp"])
    expect(() => readConfig({ MCP })).toThrow(`--mcp (STOREFRONT_MCP) must be one of public, none, not "${MCP}"`);
});

describe("query parameters to ignore", () => {
  test("names separated by commas", () => {
    const names = (IGNORE_PARAMETERS?: string) => readConfig({ IGNORE_PARAMETERS }).ignoredParameters;
    expect([undefined, "lang", "lang, theme", "utm", "$ctx", "ctx[id]", "a.b:c-d_e"].map(names)).toEqual([
      [],
      ["lang"],
      ["lang", "theme"],
      ["utm"],
      ["$ctx"],
      ["ctx[id]"],
      ["a.b:c-d_e"],
    ]);
  });

  test.each([
    ...[
      "limit",
      "Limit",
      "dryRun",
      "dryrun",
      "dry_run",
      "dryRun[]",
      "ID",
      "id",
      "filter",
      "filter[Name]",
      "Filters",
      "since",
    ],
    ...["fields", "match", "atomic", "_method", "sort"],
  ])("cannot be %s, which has an effect", (name) => {
    expect(() => readConfig({ IGNORE_PARAMETERS: `lang,${name}` })).toThrow(`\`${name}\` can't be ignored`);
  });

  test.each(["lang,", ",", "a b", "é", "a=b", "a;b", "[]", "x".repeat(65), "amp;x"])("cannot be %j", (text) => {
    expect(() => readConfig({ IGNORE_PARAMETERS: text })).toThrow("must be names such as lang,theme");
  });

  test("at most 50", () => {
    const names = (count: number) => Array.from({ length: count }, (_, i) => `x${i}`).join();
    expect(readConfig({ IGNORE_PARAMETERS: names(50) }).ignoredParameters).toHaveLength(50);
    expect(() => readConfig({ IGNORE_PARAMETERS: names(51) })).toThrow("up to 50 names, not 51");
  });
});

describe("--contact", () => {
  const contact = (CONTACT?: string) => readConfig({ CONTACT }).contact;

  test.each([
    ["mailto:support+shop@shop.example", "mailto:support+shop@shop.example"],
    ["https://shop.example", "https://shop.example/"],
    ['https://shop.example/a b?"<x>', "https://shop.example/a%20b?%22%3Cx%3E"],
    ["https://münchen.example/help", "https://xn--mnchen-3ya.example/help"],
    [undefined, undefined],
  ])("can be %j", (text, expected) => {
    expect(contact(text)).toBe(expected);
  });

  test.each([
    "support@shop.example",
    "http://shop.example",
    "https://user:secret@shop.example",
    "javascript:alert(1)",
    "mailto:a@shop.example,b@shop.example",
    "mailto:a@shop.example?subject=x",
    'mailto:"<b>"@shop.example',
    "mailto:a@shop.example\r\nX: y",
    `https://shop.example/${"x".repeat(500)}`,
    " ",
  ])("can't be %j", (text) => {
    expect(() => contact(text)).toThrow(
      "--contact (STOREFRONT_CONTACT) must be a URL such as mailto:support@shop.example",
    );
  });
});

describe("single sign-on", () => {
  const complete = {
    ADMIN_URL: "https://console.example",
    OIDC_ISSUER: "https://login.example/realms/shop",
    OIDC_CLIENT_ID: "storefront",
    OIDC_SECRET_FILE: "/etc/storefront/secret",
    OIDC_ROLE:
      "groups=admins:admin; groups=urn:shop:garden:editor@garden, orchard\nhttps://shop.example/roles=a=b:viewer",
  };

  test("has mappings with claims, values, roles and sites, and allows the console's hostname", () => {
    const { singleSignOn, adminHosts, adminUrl } = readConfig({ ...complete, ADMIN_HOST: "other.example" });
    expect(singleSignOn).toEqual({
      issuer: "https://login.example/realms/shop",
      clientId: "storefront",
      secretFile: "/etc/storefront/secret",
      mappings: [
        { claim: "groups", value: "admins", role: "admin", sites: undefined },
        { claim: "groups", value: "urn:shop:garden", role: "editor", sites: ["garden", "orchard"] },
        { claim: "https://shop.example/roles", value: "a=b", role: "viewer", sites: undefined },
      ],
      sessionMs: 3_600_000,
      consoleUrl: "https://console.example",
    });
    expect([adminHosts, adminUrl]).toEqual([["other.example", "console.example"], "https://console.example"]);
  });

  const faults: [settings: Record<string, string | undefined>, message: RegExp][] = [
    [{ OIDC_CLIENT_ID: undefined }, /--oidc-issuer \(STOREFRONT_OIDC_ISSUER\) also needs --oidc-client-id/],
    [{ OIDC_ROLE: undefined }, /also needs --oidc-role/],
    [{ ADMIN_URL: undefined }, /also needs --admin-url/],
    [{ OIDC_ISSUER: undefined }, /--oidc-client-id .* also needs --oidc-issuer/],
    [{ OIDC_ISSUER: "http://login.example" }, /must be the provider's issuer/],
    [{ OIDC_ISSUER: "https://login.example/?a" }, /must be the provider's issuer/],
    [{ OIDC_ISSUER: "https://login.example/.well-known/openid-configuration" }, /without \/\.well-known/],
    [{ OIDC_ISSUER: "login.example" }, /must be the provider's issuer/],
    [{ ADMIN_URL: "http://console.example" }, /--admin-url .* http only works on this machine/],
    [{ ADMIN_URL: "https://console.example/admin" }, /without a path/],
    [{ ADMIN_URL: "console.example" }, /such as https:\/\/console\.example/],
    [{ OIDC_SESSION: "4" }, /--oidc-session .* from 5 to 720/],
    [{ OIDC_ROLE: "admins" }, /--oidc-role .* must be a claim, its value and a role/],
    [{ OIDC_ROLE: "groups=admins" }, /must be a claim, its value and a role/],
    [{ OIDC_ROLE: "groups=admins:" }, /must be one of viewer, editor, admin, not ""/],
    [{ OIDC_ROLE: "groups=admins:administrator" }, /must be one of viewer, editor, admin, not "administrator"/],
    [{ OIDC_ROLE: "groups=admins:admin@" }, /a site's name is missing after @/],
    [{ OIDC_ROLE: "groups=admins:admin@garden,,toys" }, /a site's name is missing after @/],
    [{ OIDC_ROLE: "preferred_username=anna:admin" }, /people can change their own `preferred_username`/],
    [{ OIDC_ROLE: ";" }, /must be a claim, its value and a role/],
    [{ SIGN_IN_LINKS: "no" }, /must be one of all, none/],
  ];
  test.each(faults)("can't be set up with %j", (settings, message) => {
    expect(() => readConfig({ ...complete, ...settings })).toThrow(message);
  });

  test("is needed to turn links off, and works on this machine without TLS", () => {
    expect(() => readConfig({ SIGN_IN_LINKS: "none" })).toThrow(/nobody could sign in .*; set --oidc-issuer/);
    expect(readConfig({ ...complete, SIGN_IN_LINKS: "none" }).signInLinks).toBe(false);
    const local = { ADMIN_URL: "http://localhost:8081", OIDC_ISSUER: "http://127.0.0.1:9000" };
    expect(readConfig({ ...complete, ...local }).adminUrl).toBe("http://localhost:8081");
  });
});
