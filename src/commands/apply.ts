// `storefront apply`

import { closeSync, fsyncSync, ftruncateSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { errorMessage, systemErrorCode } from "../lib/errors-for-log.ts";
import { flushToDiskSync } from "../lib/flush.ts";
import { escapeControls } from "../lib/text.ts";
import { ProblemError } from "../model/errors.ts";
import { isStandardInput, isStandardOutput } from "../operator/files/standard-streams.ts";
import {
  applySites,
  checkWebhookUrls,
  countRemovedRecords,
  type IssuedSecret,
  type Plan,
  planSites,
  type SecretStore,
  type Step,
  stepText,
} from "../operator/sites/apply-sites.ts";
import { readPresentSites } from "../operator/sites/describe-sites.ts";
import { withEngine, withNewEngine } from "./shared/database.ts";
import { type CommonOptions, withCommonOptions } from "./shared/options.ts";
import { formatCount, printError, printMessage, printResult } from "./shared/output.ts";
import { readSitesFiles } from "./shared/sites-files.ts";
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
    .description("make sites, keys and webhooks what YAML or JSON files say, after showing what that changes")
    .argument("<files...>", "files that list sites, or - for standard input; `describe` prints one")
    .option("--dry-run", "only show what would change")
    .option("--check", `like --dry-run, but exit with ${differs} if anything would change`)
    .option("--yes", "don't ask for confirmation")
    .option(
      "--prune",
      "also remove sites that aren't in the files, and keys and webhooks that aren't in their site's list",
    )
    .option("--allow-removals <count>", "how many sites with records --prune may remove (default: 0)", parseCount)
    .option("--keys-to <file>", "new file for the keys and webhook secrets that are created, as lines of JSON")
    .option(
      "--keys-to-command <command>",
      "shell command that gets these lines on its standard input, before they're used",
    );
  return command.action((files: readonly string[], options: ApplyOptions) => apply(files, options));
}

async function apply(files: readonly string[], options: ApplyOptions): Promise<void> {
  const { dryRun, check, prune = false, keysTo, keysToCommand } = options;
  if (files.filter(isStandardInput).length > 1)
    throw new UsageError("give - only once, because standard input can only be read once");
  if (keysTo !== undefined && keysToCommand !== undefined)
    throw new UsageError("use either --keys-to or --keys-to-command, not both");
  if (keysTo === "" || isStandardOutput(keysTo ?? ""))
    throw new UsageError("--keys-to needs a file name; to pass keys to a program, use --keys-to-command");
  const isTrial = dryRun || check;
  const policy = policyOf(options);
  const { sites, mistakes } = await readSitesFiles(files, policy);
  const settings = { prune, policy, mistakes };
  await (isTrial ? withEngine : withNewEngine)(options, async (engine, run) => {
    const plan = planSites(await readPresentSites(engine), sites, settings, Date.now());
    mistakes.throwIfAny();
    const unresolved = await checkWebhookUrls(plan, sites, settings);
    mistakes.throwIfAny();
    const records = await countRemovedRecords(engine, plan);
    const shown = plan.steps.map((step) => toShown(step, records));
    const print = (applied: boolean) =>
      printResult(
        options,
        { changes: shown.map(({ info }) => info), leftAlone: plan.leftAlone, applied, run: applied ? run : null },
        shown.map(({ line }) => line),
      );
    if (!options.json || isTrial) print(false);
    else if (!options.yes) for (const { line } of shown) printMessage(line);
    for (const url of unresolved) printMessage(`the hostname in ${url} doesn't resolve at the moment; check it`);
    printMessage(summarize(plan));
    if (isTrial) {
      if (check && plan.steps.length > 0) process.exitCode = differs;
      return;
    }
    requireAllowed([...records.values()].filter((count) => count > 0).length, options);
    if (plan.steps.length > 0) {
      await withSecretStore(plan, options, (secrets) => {
        confirm(files, options);
        return applySites(engine, sites, settings, plan, records, secrets).then((unused) => {
          for (const url of unused)
            printMessage(`another run created the webhook ${url} at the same time; its secret here isn't in use`);
        });
      });
      printMessage(`applied; the run is ${run}`);
    }
    if (options.json) print(plan.steps.length > 0);
  });
}

/** The line and the JSON of a step. */
function toShown(step: Step, records: ReadonlyMap<number, number>) {
  const { sign, kind, site, name, inSandbox, details, removed } = step;
  const count = removed && records.get(removed.ID);
  const lost = count === undefined ? "" : ` with ${formatCount(count, "record")}`;
  const action = { "+": "create", "~": "change", "-": "remove" }[sign];
  const info = {
    action,
    kind,
    site,
    ...(name === undefined ? {} : { name }),
    ...(inSandbox ? { sandbox: true } : {}),
    details,
    ...(removed ? { records: count } : {}),
  };
  return { line: escapeControls(stepText(step)).replaceAll("\n", " ") + lost, info };
}

function summarize({ steps, leftAlone }: Plan): string {
  const count = (sign: Step["sign"]) => steps.filter((step) => step.sign === sign).length;
  const changes =
    steps.length === 0
      ? "nothing to change"
      : `${count("+")} to create, ${count("~")} to change, ${count("-")} to remove`;
  const rest =
    leftAlone === 0
      ? ""
      : `; ${formatCount(leftAlone, "entry", "entries")} on the server that the files don't have (--prune removes them)`;
  return changes + rest;
}

function requireAllowed(sites: number, { allowRemovals = 0 }: ApplyOptions): void {
  if (sites <= allowRemovals) return;
  const those = sites === 1 ? "this site" : "these sites";
  throw new ProblemError(
    "bad-request",
    `${formatCount(sites, "site")} with records would be removed, which can't be undone; to remove ${those} anyway, add --allow-removals ${sites}`,
  );
}

/** Asks on the terminal. @throws UsageError if there's none, ProblemError `conflict` unless the answer is yes */
function confirm(files: readonly string[], { yes }: ApplyOptions): void {
  if (yes) return;
  if (!process.stdin.isTTY || files.some(isStandardInput))
    throw new UsageError("add --yes to apply this, because there's no terminal to ask on; --dry-run only shows it");
  printError("Apply these changes? [y/N] ");
  const answer = prompt("") ?? "";
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new ProblemError("conflict", "nothing was changed");
}

interface OpenSecretStore extends SecretStore {
  /** Ends it. Removes what was added but isn't in use, except after an error that leaves that open. */
  close(isUnknown: boolean): void;
}

/** @throws UsageError if the plan creates secrets and there's nowhere to put them, ProblemError as `work` or if they can't be stored */
async function withSecretStore(
  plan: Plan,
  options: ApplyOptions,
  work: (store: SecretStore) => Promise<void>,
): Promise<void> {
  const store = openSecretStore(plan, options);
  try {
    await work(store);
    store.close(false);
  } catch (error) {
    // After a lost connection, nobody knows whether the keys were stored.
    store.close(!(error instanceof ProblemError) || error.code === "unavailable");
    throw error;
  }
}

function openSecretStore({ steps }: Plan, { keysTo, keysToCommand }: ApplyOptions): OpenSecretStore {
  const created = steps.filter(({ sign, kind }) => sign === "+" && (kind === "key" || kind === "webhook")).length;
  if (created === 0) return { add() {}, keep() {}, close() {} };
  if (keysTo !== undefined) return fileStore(keysTo);
  if (keysToCommand !== undefined) return commandStore(keysToCommand);
  throw new UsageError(
    `this creates ${formatCount(created, "key or webhook secret", "keys and webhook secrets")}, which can't be shown again; say where to put them with --keys-to <file> or --keys-to-command <command>`,
  );
}

function toLines(secrets: readonly IssuedSecret[]): Buffer {
  return Buffer.from(secrets.map((secret) => `${JSON.stringify(secret)}\n`).join(""));
}

/** @throws ProblemError `conflict` if the file exists, `unavailable` if it can't be written */
function fileStore(file: string): OpenSecretStore {
  const attempt = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      if (systemErrorCode(error) === "EEXIST")
        throw new ProblemError("conflict", `--keys-to ${file}: the file already exists; use a new one`);
      throw new ProblemError("unavailable", `can't write ${file}: ${errorMessage(error)}`, { cause: error });
    }
  };
  const descriptor = attempt(() => openSync(file, "wx", 0o600));
  let end = 0;
  let kept = 0;
  return {
    add: (secrets) =>
      attempt(() => {
        ftruncateSync(descriptor, kept);
        const lines = toLines(secrets);
        for (end = kept; end < kept + lines.length; )
          end += writeSync(descriptor, lines, end - kept, kept + lines.length - end, end);
        fsyncSync(descriptor);
        flushToDiskSync(dirname(file));
      }),
    keep: () => {
      kept = end;
    },
    close(isUnknown) {
      if (isUnknown) kept = end;
      attempt(() => ftruncateSync(descriptor, kept));
      closeSync(descriptor);
      if (kept === 0) rmSync(file, { force: true });
      else if (isUnknown)
        printMessage(
          `${file} has the keys and secrets created so far; to continue, run the command again with another file`,
        );
    },
  };
}

/** How long the command can take. */
const maxCommandMs = 5 * 60_000;

function commandStore(command: string): OpenSecretStore {
  return {
    add(secrets) {
      if (secrets.length === 0) return;
      const { exitCode } = Bun.spawnSync(["sh", "-c", command], {
        stdin: toLines(secrets),
        // Standard output has our plan.
        stdout: 2,
        stderr: "inherit",
        timeout: maxCommandMs,
      });
      if (exitCode !== 0)
        throw new ProblemError(
          "unavailable",
          `--keys-to-command failed (${exitCode === null ? "it was ended" : `exit status ${exitCode}`}), so its keys and secrets aren't in use`,
        );
    },
    keep() {},
    close() {},
  };
}

function parseCount(text: string): number {
  if (/^[0-9]{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Use a whole number.");
}
