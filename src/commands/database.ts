// Commands on the whole database: `backup`, `restore`, `renew`, `copy` and `check`.

import { Command, InvalidArgumentError } from "commander";
import {
  backUp,
  checkBackup,
  deleteOldBackups,
  isFolder,
  latestBackup,
  nameBackup,
  type Restored,
  restore,
  verifyBackup,
} from "../operator/backup.ts";
import { type CopyProgress, copyDatabase } from "../operator/copy.ts";
import { startNewHistories } from "../operator/history.ts";
import { isStandardInput, isStandardOutput } from "../operator/output.ts";
import type { Restriction } from "../operator/restrictions.ts";
import { maxListedInconsistencies } from "../store/database/consistency-check.ts";
import {
  type CommonOptions,
  countRows,
  fileArgument,
  formatCount,
  printMessage,
  printResult,
  showingRows,
  UsageError,
  whileShowing,
  withCommonOptions,
  withEngine,
  withNewEngine,
} from "./common.ts";

export function databaseCommands(): Command[] {
  return [backupCommand(), restoreCommand(), renewCommand(), copyCommand(), checkCommand()];
}

interface BackupFlags extends CommonOptions {
  readonly keep?: number;
}

function backupCommand(): Command {
  return withCommonOptions(new Command("backup"))
    .description("write the whole database to a file; servers may keep running")
    .addArgument(
      fileArgument("<file>", "file to write, a folder for storefront-<time>.backup in it, or - for standard output"),
    )
    .option("--keep <number>", "in a folder, keep this many backups and delete the older ones afterwards", parseKeep)
    .action(async (target: string, options: BackupFlags) => {
      const now = Date.now();
      const inFolder = isFolder(target);
      if (options.keep !== undefined && !inFolder)
        throw new UsageError(`--keep needs an existing folder, and ${target} is not a folder`);
      const file = inFolder ? nameBackup(target, now) : target;
      const { rows, missingHeadHint } = await whileShowing((progress) =>
        withEngine(options, (engine) => backUp(showingRows(engine, progress), file, now)),
      );
      const deleted = options.keep === undefined ? [] : deleteOldBackups(target, options.keep, file);
      if (!isStandardOutput(file)) printResult(options, { file, rows, deleted }, []);
      printMessage(`wrote ${rows} rows to ${isStandardOutput(file) ? "standard output" : file}`);
      for (const old of deleted) printMessage(`deleted ${old}`);
      if (missingHeadHint)
        printMessage(`the time of this backup could not be stored, for the metrics: ${missingHeadHint}`);
    });
}

function parseKeep(text: string): number {
  if (/^[1-9][0-9]{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It is a whole number from 1 to 99999.");
}

interface RestoreFlags extends CommonOptions {
  readonly asOfBackup?: true;
}

function restoreCommand(): Command {
  return withCommonOptions(new Command("restore"))
    .description("replace the whole database with a backup; servers may keep running")
    .argument("<file>", "backup to read, or - for standard input")
    .option("--as-of-backup", "revive what was revoked or removed since the backup, too")
    .addHelpText(
      "after",
      "\nThe present content, up to the last change, is saved as <file>.before-<time> (with -, as restore.before-<time>).\nWhat was revoked, removed, suspended or rotated since the backup stays so: keys, operators, webhooks, sites.\nIt is listed.",
    )
    .action(async (file: string, { asOfBackup: isAsOfBackup, ...options }: RestoreFlags) => {
      const now = Date.now();
      const base = isStandardInput(file) ? "restore" : file;
      const keep = `${base}.before-${new Date(now).toISOString().replaceAll(":", "-")}`;
      const restored = await whileShowing(async (progress) => {
        const total = await verifyBackup(
          file,
          countRows((rows) => progress.show("verifying", rows)),
        );
        return withNewEngine(options, (engine) =>
          restore(showingRows(engine, progress, total), file, keep, now, { isAsOfBackup }),
        );
      });
      printResult(options, { file, ...restored }, []);
      printMessage([`restored ${restored.rows} rows from ${file}`, ...consequences(restored)].join("; "));
      for (const line of restrictionLines(restored)) printMessage(line);
    });
}

/** Describes what happened to the previous content: how many changes were discarded, and where the content is saved. */
function consequences({ kept, discarded, otherHistories }: Restored): string[] {
  if (kept.length === 0) return [];
  const lost = `${formatCount(discarded, "change")} made since the backup ${discarded === 1 ? "is" : "are"}`;
  const uncounted = `the changes of ${formatCount(otherHistories, "site")} cannot be counted, because their history is not that of the backup`;
  return [
    ...(otherHistories === 0 || discarded > 0 ? [`${lost} discarded`] : []),
    ...(otherHistories > 0 ? [uncounted] : []),
    `the previous content is in ${kept.join(" and ")}`,
  ];
}

function renewCommand(): Command {
  return withCommonOptions(new Command("renew"))
    .description("start new histories, after the database was restored by other means than `restore`")
    .addHelpText(
      "after",
      "\nNo earlier ETag is accepted any more, for any site: a client that sends one has to read the record again.",
    )
    .action(async (options: CommonOptions) => {
      const sites = await withEngine(options, startNewHistories);
      printResult(options, { sites }, []);
      printMessage(`started new histories for ${formatCount(sites, "site")}`);
    });
}

interface CopyFlags extends CommonOptions {
  readonly from: string;
  readonly to: string;
}

function copyCommand(): Command {
  return new Command("copy")
    .description("copy the whole database to an empty one, also of another kind; servers may keep running")
    .requiredOption("--from <url>", "database to copy, as for --database")
    .requiredOption("--to <url>", "database to copy to; it must be empty")
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      "\nChanges made to the source while the copy runs are not copied: stop the servers, or stop writing.",
    )
    .action(async ({ from, to, ...options }: CopyFlags) => {
      const rows = await whileShowing(({ show }) =>
        withEngine({ database: from }, (source) =>
          withNewEngine({ database: to }, (target) =>
            copyDatabase(source, target, (at: CopyProgress) => show(at.step, at.rows, at.total)),
          ),
        ),
      );
      printResult(options, { rows }, []);
      printMessage(`copied ${rows} rows; both databases have the same content`);
    });
}

function checkCommand(): Command {
  return withCommonOptions(new Command("check"))
    .description("check the whole database, or a backup, for faults: the file, the records and their journal")
    .addArgument(
      fileArgument("[file]", "backup to check instead of the database, without restoring it; of a folder, its latest"),
    )
    .action(async (target: string | undefined, options: CommonOptions) => {
      const file = target !== undefined && isFolder(target) ? latestBackup(target) : target;
      const faults = await whileShowing((progress) =>
        file === undefined
          ? withEngine(options, async (engine) => showingRows(engine, progress).findInconsistencies())
          : checkBackup(
              file,
              countRows((rows) => progress.show("checking", rows)),
            ),
      );
      const where = file === undefined ? "" : ` in ${file}`;
      printResult(options, { faults }, faults);
      const count = faults.length > maxListedInconsistencies ? `more than ${maxListedInconsistencies}` : faults.length;
      printMessage(faults.length === 0 ? `no faults found${where}` : `faults found${where}: ${count}`);
      if (faults.length > 0) process.exitCode = 1;
    });
}

// Messages of `restore` about keys, operators, webhooks and sites that were restricted since the backup.

/** Maximum number of lines for restrictions that stay, and maximum for restrictions that end. `--json` lists all. */
const maxLines = 100;

/** For each kind of restriction, the end of two sentences: one for a restriction that stays, one for a restriction that the restore ends. */
const meanings: Record<Restriction["change"], readonly [stays: string, revived: string]> = {
  revoked: ["stays revoked", "is valid again: it was revoked since the backup"],
  narrowed: ["keeps the narrower rights that it has had since the backup", "has its wider rights again"],
  rotated: [
    "stays rotated: what replaced it since the backup is valid",
    "is valid again: it was rotated since the backup",
  ],
  removed: ["stays removed", "is there again: it was removed since the backup"],
  paused: ["stays paused", "delivers again: it was paused since the backup"],
  suspended: ["stays suspended", "is served again: it was suspended since the backup"],
};

function restrictionLines({ stays, revived, isUnknown }: Restored): string[] {
  if (isUnknown) {
    const detail = "it cannot be known what was revoked, removed or suspended since the backup";
    return [
      `the target did not have these sites, keys and operators, so ${detail}; check \`key list\` and \`operator list\``,
    ];
  }
  return [...shown(stays, 0), ...shown(revived, 1)];
}

function shown(restrictions: readonly Restriction[], meaning: 0 | 1): string[] {
  const lines = restrictions.slice(0, maxLines).map(({ kind, name, site, change }) => {
    const subject =
      change === "rotated" && kind === "webhook" ? `the secret of the webhook ${name}` : `the ${kind} ${name}`;
    return `${subject}${site ? ` of ${site}` : ""} ${meanings[change][meaning]}`;
  });
  const more = restrictions.length - lines.length;
  return more > 0 ? [...lines, `and ${formatCount(more, "more line")}: \`--json\` has them all`] : lines;
}
