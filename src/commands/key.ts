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
} from "./common.ts";

interface CreateOptions extends CommonOptions {
  readonly site: string;
  readonly label?: string;
  readonly scope: Scope;
  readonly expires?: string;
  readonly rate?: string;
}

export function keyCommand(): Command {
  const key = new Command("key").description("API keys: issue, list, revoke and rotate them");
  for (const command of [createCommand(), listCommand(), revokeCommand(), rotateCommand()]) key.addCommand(command);
  return key;
}

function createCommand(): Command {
  return withCommonOptions(new Command("create"))
    .description("issue a key; it is shown this once")
    .requiredOption("--site <name>", "the website that it opens, as `site list` names it")
    .option("--label <text>", "what it is for")
    .addOption(new Option("--scope <scope>", "what it may do; write includes read").choices(scopes).default("write"))
    .option("--expires <duration>", "when it stops working: after 90d, 12h, 30m or 10s; never when not given")
    .option("--rate <number>", "requests per second that it may make, in place of the server's limit")
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
  return withCommonOptions(new Command("list"))
    .description("list the keys of a website, never the keys themselves")
    .requiredOption("--site <name>", "the website, as `site list` names it")
    .action(async (options: CommonOptions & { site: string }) => {
      const keys = await withEngine(options, async (engine) => listKeys(engine, await findSite(engine, options.site)));
      const now = Date.now();
      const header = ["PREFIX", "LABEL", "SCOPE", "MADE (UTC)", "EXPIRES (UTC)", "LAST USED (UTC)", "STATE"];
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
    .description("end a key; it is refused from the next request on")
    .argument("<prefix>", "its first characters, as `key list` shows them")
    .action(async (prefix: string, options: CommonOptions) => {
      const key = await withEngine(options, (engine) => revokeKey(engine, prefix, Date.now()));
      printResult(options, withoutDigest(key), []);
      printMessage(`revoked ${key.Prefix}`);
    });
}

function rotateCommand(): Command {
  return withCommonOptions(new Command("rotate"))
    .description("issue a key in place of another; the old one ends at once, or after --overlap")
    .argument("<prefix>", "the old key's first characters, as `key list` shows them")
    .option("--overlap <duration>", "how long the old one still works, such as 24h")
    .action(async (prefix: string, options: CommonOptions & { overlap?: string }) => {
      const overlap = options.overlap === undefined ? 0 : readDuration(options.overlap);
      printIssued(options, await withEngine(options, (engine) => rotateKey(engine, prefix, overlap, Date.now())));
    });
}

function printIssued(options: CommonOptions, { key, record }: IssuedKey): void {
  // First of all, so that a key that cannot be printed can be revoked.
  printMessage(`issued ${record.Prefix}; the key itself is kept nowhere, so note it now`);
  printResult(options, { key, ...withoutDigest(record) }, [key]);
}

function readRate(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9][0-9]{0,5}$/.test(text))
    throw new UsageError(`--rate must be a whole number from 1 to 999999, not "${text}"`);
  return Number(text);
}

function toShown({ lastUsed, ...key }: ListedKey) {
  return { ...withoutDigest(key), LastUsed: lastUsed?.toISOString() ?? "" };
}

function withoutDigest<T extends { Digest: string }>({ Digest: _, ...key }: T): Omit<T, "Digest"> {
  return key;
}

function toRow(key: ListedKey, now: number): string[] {
  const state = key.Revoked ? "revoked" : key.Expires && Date.parse(key.Expires) <= now ? "expired" : "works";
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
