import { Command, Option } from "commander";
import { type Scope, scopes } from "../model/key.ts";
import { createKey, type IssuedKey, type ListedKey, listKeys, revokeKey, rotateKey } from "../operator/keys.ts";
import { findSite } from "../operator/sites.ts";
import {
  type CommonOptions,
  printMessage,
  printResult,
  readDuration,
  toTable,
  UsageError,
  withCommonOptions,
  withEngine,
  withSiteOption,
} from "./common.ts";

interface CreateOptions extends CommonOptions {
  readonly site: string;
  readonly label?: string;
  readonly scope: Scope;
  readonly expires?: string;
  readonly rate?: string;
}

export function keyCommand(): Command {
  const key = new Command("key").description("create, list, revoke and rotate API keys");
  for (const command of [createCommand(), listCommand(), revokeCommand(), rotateCommand()]) key.addCommand(command);
  return key;
}

function createCommand(): Command {
  return withSiteOption(new Command("create"))
    .description("create a key and print it; it cannot be shown again")
    .option("--label <text>", "purpose of the key (default: none)")
    .addOption(new Option("--scope <scope>", "permission; write includes read").choices(scopes).default("write"))
    .option("--expires <duration>", "time until the key expires, such as 90d, 12h, 30m or 10s (default: never)")
    .option("--rate <number>", "requests per second, 1 to 999999 (default: --rate of the server)")
    .action(async (options: CreateOptions) => {
      const now = Date.now();
      const expiresAt = options.expires === undefined ? undefined : now + readDuration(options.expires);
      const settings = { label: options.label, scope: options.scope, expiresAt, rate: readRate(options.rate) };
      const issued = await withEngine(options, async (engine) =>
        createKey(engine, await findSite(engine, options.site), settings, now),
      );
      printIssued(options, issued);
    });
}

function listCommand(): Command {
  return withSiteOption(new Command("list"))
    .description("list the keys of a website by prefix; the keys themselves are not stored")
    .action(async (options: CommonOptions & { site: string }) => {
      const keys = await withEngine(options, async (engine) => listKeys(engine, await findSite(engine, options.site)));
      const now = Date.now();
      const header = ["PREFIX", "LABEL", "SCOPE", "CREATED (UTC)", "EXPIRES (UTC)", "LAST USED (UTC)", "STATE"];
      printResult(
        options,
        keys.map(toShown),
        toTable(
          header,
          keys.map((key) => toRow(key, now)),
        ),
      );
    });
}

function revokeCommand(): Command {
  return withCommonOptions(new Command("revoke"))
    .description("revoke a key; the next request with it is refused")
    .argument("<prefix>", "at least the first 8 characters of the key, see `key list`")
    .action(async (prefix: string, options: CommonOptions) => {
      const key = await withEngine(options, (engine) => revokeKey(engine, prefix, Date.now()));
      printResult(options, withoutDigest(key), []);
      printMessage(`revoked the key ${key.Prefix}`);
    });
}

function rotateCommand(): Command {
  return withCommonOptions(new Command("rotate"))
    .description("replace a key with a new one of the same settings")
    .argument("<prefix>", "at least the first 8 characters of the old key, see `key list`")
    .option("--overlap <duration>", "time until the old key is refused, such as 24h (default: at once)")
    .action(async (prefix: string, options: CommonOptions & { overlap?: string }) => {
      const overlap = options.overlap === undefined ? 0 : readDuration(options.overlap);
      printIssued(options, await withEngine(options, (engine) => rotateKey(engine, prefix, overlap, Date.now())));
    });
}

function printIssued(options: CommonOptions, { key, record }: IssuedKey): void {
  // The prefix comes first: if the key cannot be printed, it can be revoked.
  printMessage(`created the key ${record.Prefix}; save the key itself now: it cannot be shown again`);
  printResult(options, { key, ...withoutDigest(record) }, [key]);
}

function readRate(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9][0-9]{0,5}$/.test(text))
    throw new UsageError(`invalid --rate \`${text}\`: it is a whole number from 1 to 999999`);
  return Number(text);
}

function toShown({ lastUsed, ...key }: ListedKey) {
  return { ...withoutDigest(key), LastUsed: lastUsed?.toISOString() ?? "" };
}

function withoutDigest<T extends { Digest: string }>({ Digest: _, ...key }: T): Omit<T, "Digest"> {
  return key;
}

function toRow(key: ListedKey, now: number): string[] {
  const state = key.Revoked ? "revoked" : key.Expires && Date.parse(key.Expires) <= now ? "expired" : "valid";
  return [
    key.Prefix,
    key.Label,
    key.Scope,
    toMinute(key.Created),
    toMinute(key.Expires) || "never",
    toMinute(key.lastUsed?.toISOString() ?? "") || "never",
    state,
  ];
}

function toMinute(instant: string): string {
  return instant.slice(0, 16).replace("T", " ");
}
