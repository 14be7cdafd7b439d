// `storefront apply`

import { rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { decodeText } from "../formats/text-encoding.ts";
import { Mistakes, readYaml } from "../formats/yaml.ts";
import { errorMessage, systemErrorCode } from "../lib/errors-for-log.ts";
import { flushToDiskSync } from "../lib/flush.ts";
import { ProblemError } from "../model/errors.ts";
import { isStandardInput, isStandardOutput } from "../operator/files/standard-streams.ts";
import {
  applySites,
  type IssuedSecret,
  type Plan,
  planSites,
  requireAllowedRemovals,
  type SecretStore,
  type Step,
  stepText,
} from "../operator/sites/apply-sites.ts";
import { kinds, type SiteEntry, sitesShape } from "../operator/sites/sites-file.ts";
import type { AddressPolicy } from "../webhooks/address-policy.ts";
import { withEngine, withNewEngine } from "./shared/database.ts";
import { openInput } from "./shared/input-file.ts";
import { type CommonOptions, withCommonOptions } from "./shared/options.ts";
import { formatCount, printError, printMessage, printResult } from "./shared/output.ts";
import { UsageError } from "./shared/usage-error.ts";
import { policyOf, withAllowOption } from "./webhook.ts";

interface ApplyOptions extends CommonOptions {
  readonly dryRun?: true;
  readonly check?: true;
  readonly yes?: true;
  readonly prune?: true;
  readonly allowRemovals?: number;
  readonly keysTo?: string;
  readonly keysToCommand?: string;
  readonly webhookAllow?: string;
}

/** The exit status of `--check` if something differs. */
const differs = 3;

export function applyCommand(): Command {
  const command = withAllowOption(withCommonOptions(new Command("apply")))
    .description("make sites, keys and webhooks match YAML or JSON files, after showing what would change")
    .argument("<files...>", "files that list sites, or - for standard input; `describe` prints one")
    .option("--dry-run", "only show what would change")
    .option("--check", `like --dry-run, but exit with ${differs} if anything would change`)
    .option("--yes", "don't ask for confirmation")
    .option(
      "--prune",
      "also remove sites that aren't in the files, and keys and webhooks that aren't in their site's list",
    )
    .option(
      "--allow-removals <count>",
      "how many sites with records or keys --prune may remove (default: 0)",
      parseCount,
    )
    .option("--keys-to <file>", "new file for the keys and webhook secrets that are created, as lines of JSON")
    .option(
      "--keys-to-command <command>",
      "shell command that gets these lines on its standard input, before they're used",
    );
  return command.action((files: readonly string[], options: ApplyOptions) => apply(files, options));
}

async function apply(files: readonly string[], options: ApplyOptions): Promise<void> {
  const { dryRun, check, prune = false, allowRemovals = 0, keysTo, keysToCommand } = options;
  if (files.filter(isStandardInput).length > 1)
    throw new UsageError("use - only once, because standard input can only be read once");
  if (keysTo !== undefined && keysToCommand !== undefined)
    throw new UsageError("use either --keys-to or --keys-to-command, not both");
  if (keysTo === "" || isStandardOutput(keysTo ?? "") || keysToCommand?.trim() === "")
    throw new UsageError("give --keys-to a file name, or --keys-to-command a command");
  const isTrial = dryRun || check;
  const policy = policyOf(options);
  const { sites, mistakes } = await readSitesFiles(files, policy);
  const settings = { prune, allowRemovals, policy, mistakes };
  await (isTrial ? withEngine : withNewEngine)(options, async (engine, run) => {
    const plan = await planSites(engine, sites, settings);
    const { steps, leftAlone } = plan;
    const info = { changes: steps.map(toInfo), leftAlone: leftAlone.map(toInfo), run: isTrial ? null : run };
    printResult(options, info, steps.map(toLine));
    printMessage(summarize(plan));
    if (check && steps.length > 0) process.exitCode = differs;
    if (isTrial || steps.length === 0) return;
    requireAllowedRemovals(plan, settings);
    const issues = steps.some(({ action, kind }) => action === "create" && (kind === "key" || kind === "webhook"));
    if (issues && keysTo === undefined && keysToCommand === undefined)
      throw new UsageError(
        "this creates keys or webhook secrets, which can't be shown again; say where to put them with --keys-to <file> or --keys-to-command <command>",
      );
    confirm(steps, options);
    const handOver = keysToCommand === undefined ? storeIn(keysTo ?? "") : passTo(keysToCommand);
    const finish = await applySites(engine, sites, settings, plan, handOver);
    await finish().catch((error) => {
      printMessage(`not everything is done yet; run the command again for the rest. The run is ${run}`);
      throw error;
    });
    printMessage(`applied; the run is ${run}`);
  });
}

/** Of all files together, in bytes. */
const maxBytes = 4 << 20;

/**
 * @param files paths, or `-` for standard input
 * @returns the sites in all files, and where to report further mistakes
 * @throws ProblemError `invalid-record` with all mistakes, or as `openInput`
 */
export async function readSitesFiles(
  files: readonly string[],
  policy: AddressPolicy,
): Promise<{ sites: readonly SiteEntry[]; mistakes: Mistakes }> {
  const mistakes = new Mistakes();
  const shape = sitesShape(policy);
  const sites: SiteEntry[] = [];
  let size = 0;
  for (const file of files) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of openInput(file)) {
      size += chunk.length;
      if (size > maxBytes)
        throw new ProblemError(
          "too-large",
          `the files are larger than ${maxBytes >> 20} MiB; apply them in parts, without --prune`,
        );
      chunks.push(chunk);
    }
    const name = isStandardInput(file) ? "stdin" : file;
    const text = (await Array.fromAsync(decodeText(chunks, undefined, `; save ${name} as UTF-8`))).join("");
    const read = readYaml(text, name, shape, mistakes) as { sites?: readonly SiteEntry[] } | undefined;
    sites.push(...(read?.sites ?? []));
  }
  requireUnique(sites, mistakes);
  mistakes.throwIfAny();
  return { sites, mistakes };
}

/** Adds to `mistakes` each entry for the same site, key or webhook as an earlier one, and each that doesn't say which it's for. */
function requireUnique(sites: readonly SiteEntry[], mistakes: Mistakes): void {
  const known = new Map<string, object>();
  const add = (entry: object, member: string, detail: string) => mistakes.add(mistakes.placeOf(entry, member), detail);
  const claim = (what: string, entry: object, member: string, identity: string) => {
    const before = known.get(identity);
    if (before) add(entry, member, `${what} is already at ${mistakes.placeOf(before)}`);
    else known.set(identity, entry);
  };
  for (const [at, site] of sites.entries()) {
    if (site.name !== undefined) claim(`the site \`${site.name}\``, site, "name", site.name);
    if (site.default) claim("the default site", site, "default", "default site");
    const entries = [kinds.key, kinds.webhook].flatMap(
      (one) => site[`${one.kind}s`]?.map((entry) => ({ entry, ...one })) ?? [],
    );
    for (const { entry, kind, by, handle } of entries) {
      const member = Object.hasOwn(entry, handle) ? handle : by;
      if (entry[member]) claim(`the same ${member}`, entry, member, `${at} ${kind} ${member} ${entry[member]}`);
      else if (entry[member] === "" || !Object.hasOwn(entry, member))
        add(entry, member, `give the ${kind} a \`${by}\`, or the \`${handle}\` of the ${kind} you mean`);
    }
  }
}

function toInfo({ action, kind, site, name, details, lost }: Step) {
  return { action, kind, site, name, details, ...lost };
}

function toLine(step: Step): string {
  const counts = Object.entries(step.lost ?? {}).filter(([, count]) => count > 0);
  const lost = counts.map(([name, count]) => formatCount(count, name.slice(0, -1))).join(", ");
  return lost === "" ? stepText(step) : `${stepText(step)} with ${lost}`;
}

function summarize({ steps, leftAlone }: Plan): string {
  const count = (action: Step["action"]) => `${steps.filter((step) => step.action === action).length} to ${action}`;
  const changes = `${count("create")}, ${count("change")}, ${count("remove")}`;
  const left = formatCount(leftAlone.length, "site, key or webhook", "sites, keys and webhooks");
  const rest = leftAlone.length > 0 ? `; ${left} on the server that the files don't list (--prune removes them)` : "";
  return (steps.length === 0 ? "nothing to change" : changes) + rest;
}

/** Asks on the terminal. @throws UsageError if there's none, ProblemError `conflict` unless the answer is yes */
function confirm(steps: readonly Step[], { yes }: ApplyOptions): void {
  if (yes) return;
  if (!process.stdin.isTTY)
    throw new UsageError("add --yes to apply this, because standard input isn't a terminal; --dry-run only shows it");
  if (!process.stdout.isTTY) for (const step of steps) printMessage(toLine(step));
  printError("Apply these changes? [y/N] ");
  const answer = prompt("") ?? "";
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new ProblemError("conflict", "nothing was changed");
}

/** @throws ProblemError `conflict` if the file exists, `unavailable` if it can't be written */
function storeIn(file: string): SecretStore {
  return (secrets) => {
    try {
      writeFileSync(file, toLines(secrets), { flag: "wx", mode: 0o600 });
      flushToDiskSync(file);
      flushToDiskSync(dirname(file));
    } catch (error) {
      if (systemErrorCode(error) === "EEXIST")
        throw new ProblemError("conflict", `--keys-to ${file}: the file already exists; use a new one`);
      rmSync(file, { force: true });
      throw new ProblemError("unavailable", `can't write ${file}: ${errorMessage(error)}`, { cause: error });
    }
  };
}

/** How long the command can take. */
const maxCommandMs = 5 * 60_000;

function passTo(command: string): SecretStore {
  return (secrets) => {
    const stdin = toLines(secrets);
    // Standard output has our plan.
    const options = { stdin, stdout: 2, stderr: "inherit", timeout: maxCommandMs } as const;
    const { exitCode } = Bun.spawnSync(["sh", "-c", command], options);
    if (exitCode === 0) return;
    const end = exitCode === null ? "it was killed" : `exit status ${exitCode}`;
    throw new ProblemError(
      "unavailable",
      `--keys-to-command failed (${end}); nothing was changed, so its keys don't work`,
    );
  };
}

function toLines(secrets: readonly IssuedSecret[]): Buffer {
  return Buffer.from(secrets.map((secret) => `${JSON.stringify(secret)}\n`).join(""));
}

function parseCount(text: string): number {
  if (/^[0-9]{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Use a whole number.");
}
