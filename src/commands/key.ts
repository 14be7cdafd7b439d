// `storefront key`

import { Command, Option } from "commander";
import type { Engine } from "../model/engine.ts";
import { type Scope, scopes } from "../model/key-rights.ts";
import {
  createKey,
  type IssuedKey,
  listKeys,
  revokeKey,
  rotateKey,
  setKey,
  toKeyInfo,
} from "../operator/sites/keys.ts";
import { requireSandbox } from "../operator/sites/sandboxes.ts";
import { listSites, requireCompleteSite } from "../operator/sites/sites.ts";
import { listWebhooksMadeBy } from "../operator/webhooks/webhook-list.ts";
import type { SiteRecord } from "../system/system-records.ts";
import { withEngine } from "./shared/database.ts";
import {
  type CommonOptions,
  parseDuration,
  type SiteOptions,
  withCommonOptions,
  withSiteOption,
} from "./shared/options.ts";
import { printMessage, printResult, toMinute, toTable } from "./shared/output.ts";
import { UsageError } from "./shared/usage-error.ts";

interface KeySiteOptions {
  readonly site: string;
  readonly sandbox?: true | undefined;
}

interface CreateOptions extends SiteOptions, KeySiteOptions {
  readonly label?: string;
  readonly scope?: Scope;
  readonly can?: readonly string[];
  readonly from?: readonly string[];
  readonly expires?: string;
  readonly rate?: string;
}

interface SetOptions extends CommonOptions {
  readonly label?: string;
  readonly scope?: Scope;
  readonly can?: readonly string[];
  readonly from?: readonly string[];
  readonly rate?: string;
  readonly expires?: string;
}

export function keyCommand(): Command {
  const key = new Command("key").description("create, list, change, revoke and rotate API keys");
  for (const command of [createCommand(), listCommand(), setCommand(), revokeCommand(), rotateCommand()])
    key.addCommand(command);
  return key;
}

function createCommand(): Command {
  return withSiteOption(new Command("create"))
    .description("create a key and print it; it can't be shown again")
    .option("--sandbox", "create a key for the site's sandbox, starting with sfk_test_; see `site sandbox`")
    .option("--label <text>", "what the key is for (default: none)")
    .addOption(scopeOption("read or write everything; write includes read (default: write, or with --can, only that)"))
    .addOption(
      canOption("single rights: brands:read, brands:write ..., changes:read or webhooks:write, separated by commas"),
    )
    .addOption(fromOption("up to 16 networks from which the key can be used, such as 203.0.113.0/24 (default: all)"))
    .option("--expires <duration>", "when the key expires, such as 90d, 12h, 30m or 10s from now (default: never)")
    .option("--rate <number>", "requests per second, 1 to 999999 (default: the server's --rate)")
    .action(async (options: CreateOptions) => {
      const now = Date.now();
      const expiresAt = options.expires === undefined ? undefined : now + parseDuration(options.expires);
      const { label, from: networks } = options;
      const settings = { label, rights: rightsIn(options), networks, expiresAt, rate: parseRate(options.rate) };
      const issued = await withEngine(options, async (engine) =>
        createKey(engine, await siteOfKey(engine, options), settings, now),
      );
      printIssued(options, issued);
    });
}

function scopeOption(description: string): Option {
  return new Option("--scope <scope>", description).choices(scopes);
}

function canOption(description: string): Option {
  return new Option("--can <rights>", description).argParser(addToList);
}

function fromOption(description: string): Option {
  return new Option("--from <networks>", description).argParser(addToList);
}

function addToList(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...text.split(",").map((part) => part.trim())];
}

/** Undefined without `--scope` and `--can`. */
function rightsIn({ scope, can }: Pick<SetOptions, "scope" | "can">): readonly string[] | undefined {
  if (scope === undefined) return can;
  return [scope, ...(can ?? [])];
}

/** The site, or with `--sandbox` its sandbox. @throws ProblemError `not-found`, or `conflict` if it's still being imported or copied */
async function siteOfKey(engine: Engine, { site: name, sandbox }: KeySiteOptions): Promise<SiteRecord> {
  const sites = await listSites(engine);
  const site = requireCompleteSite(sites, name);
  return sandbox && site.SandboxOf === "" ? requireSandbox(sites, site) : site;
}

function listCommand(): Command {
  return withCommonOptions(new Command("list"))
    .description("list a site's keys or all keys by prefix; the keys themselves aren't stored")
    .option("--site <name>", "name of the site, see `site list` (default: all)")
    .option("--sandbox", "list the keys of the site's sandbox instead")
    .action(async (options: CommonOptions & { site?: string; sandbox?: true }) => {
      const { site, sandbox } = options;
      if (sandbox && site === undefined)
        throw new UsageError("--sandbox needs --site <name>, so it's clear which site's sandbox");
      const keys = await withEngine(options, async (engine) =>
        listKeys(engine, site === undefined ? undefined : await siteOfKey(engine, { site, sandbox })),
      );
      const now = Date.now();
      const infos = keys.map((key) => toKeyInfo(key, now));
      const sites = site === undefined ? ["SITE"] : [];
      const header = [
        "PREFIX",
        ...sites,
        "LABEL",
        "RIGHTS",
        "FROM",
        "RATE",
        "CREATED (UTC)",
        "EXPIRES (UTC)",
        "LAST USED (UTC)",
        "STATE",
      ];
      const rows = infos.map((key) => toRow(key, sites.length > 0));
      printResult(options, infos, toTable(header, rows));
    });
}

function setCommand(): Command {
  return withCommonOptions(new Command("set"))
    .description("change what a key can do, or its label, rate or expiry; takes effect immediately")
    .argument("<prefix>", "first 8 or more characters of the key (13 for a sandbox key), see `key list`")
    .option("--label <text>", "what the key is for")
    .addOption(scopeOption("replace what the key can do; write includes read"))
    .addOption(canOption("replace what the key can do, or with --scope, add to it; see `key create`"))
    .addOption(fromOption("replace the networks from which the key can be used; `any` allows all"))
    .option("--rate <number>", "requests per second, 1 to 999999, or `default` for the server's --rate")
    .option("--expires <duration>", "when the key expires, such as 90d, 12h, 30m or 10s from now, or `never`")
    .action(async (prefix: string, options: SetOptions) => {
      const now = Date.now();
      const { label, from, rate, expires } = options;
      const changes = {
        label,
        rights: rightsIn(options),
        networks: from?.join() === "any" ? [] : from,
        rate: rate === "default" ? null : parseRate(rate),
        expiresAt: expires === "never" ? null : expires === undefined ? undefined : now + parseDuration(expires),
      };
      if (Object.values(changes).every((value) => value === undefined))
        throw new UsageError("nothing to change: add --scope, --can, --from, --label, --rate or --expires");
      const key = await withEngine(options, (engine) => setKey(engine, prefix, changes, now));
      printResult(options, toKeyInfo(key, Date.now()), []);
      printMessage(`changed the key ${key.Prefix}`);
    });
}

function revokeCommand(): Command {
  return withCommonOptions(new Command("revoke"))
    .description("revoke a key; takes effect immediately")
    .argument("<prefix>", "first 8 or more characters of the key (13 for a sandbox key), see `key list`")
    .action(async (prefix: string, options: CommonOptions) => {
      const { key, webhooks } = await withEngine(options, async (engine) => {
        const revoked = await revokeKey(engine, prefix, Date.now());
        return { key: revoked, webhooks: await listWebhooksMadeBy(engine, revoked) };
      });
      printResult(options, { ...toKeyInfo(key, Date.now()), webhooks: webhooks.map(({ ID }) => ID) }, []);
      printMessage(`revoked the key ${key.Prefix}`);
      for (const { ID, URL: url } of webhooks)
        printMessage(
          `it made webhook ${ID}, which still delivers to ${url}; to stop that, run \`webhook remove ${ID}\``,
        );
    });
}

function rotateCommand(): Command {
  return withCommonOptions(new Command("rotate"))
    .description("replace a key with a new one that has the same settings")
    .argument("<prefix>", "first 8 or more characters of the old key (13 for a sandbox key), see `key list`")
    .option("--overlap <duration>", "how long the old key keeps working, such as 24h (default: revoke it immediately)")
    .action(async (prefix: string, options: CommonOptions & { overlap?: string }) => {
      const overlap = options.overlap === undefined ? 0 : parseDuration(options.overlap);
      printIssued(options, await withEngine(options, (engine) => rotateKey(engine, prefix, overlap, Date.now())));
    });
}

function printIssued(options: CommonOptions, { key, record }: IssuedKey): void {
  // The prefix goes first. If printing the key then fails, the operator can still revoke it by prefix.
  printMessage(`created the key ${record.Prefix}; save the key now, because it can't be shown again`);
  printResult(options, { key, ...toKeyInfo(record, Date.now()) }, [key]);
}

function parseRate(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9][0-9]{0,5}$/.test(text))
    throw new UsageError(`invalid --rate \`${text}\`: use a whole number from 1 to 999999`);
  return Number(text);
}

function toRow(key: ReturnType<typeof toKeyInfo>, hasSite: boolean): string[] {
  return [
    key.prefix,
    ...(hasSite ? [key.site] : []),
    key.label,
    key.can.join(" ") || "none",
    key.networks.join(" ") || "any",
    `${key.rate ?? "default"}`,
    toMinute(key.created),
    key.expires ? toMinute(key.expires) : "never",
    key.lastUsed ? toMinute(key.lastUsed) : "never",
    key.state,
  ];
}
