// `storefront restore`

import { Command } from "commander";
import { type Restored, restore, verifyBackup } from "../operator/backup/backup.ts";
import type { Restriction } from "../operator/backup/restrictions.ts";
import { isStandardInput } from "../operator/files/standard-streams.ts";
import { recordInLog, withNewEngine } from "./shared/database.ts";
import { type CommonOptions, withCommonOptions } from "./shared/options.ts";
import { formatCount, printMessage, printResult } from "./shared/output.ts";
import { countRows, withProgress, withRowProgress } from "./shared/progress.ts";

interface RestoreFlags extends CommonOptions {
  readonly asOfBackup?: true;
}

export function restoreCommand(): Command {
  return withCommonOptions(new Command("restore"))
    .description("replace the whole database with a backup; servers can keep running")
    .argument("<file>", "backup to restore, or - for standard input")
    .option("--as-of-backup", "also bring back access that was revoked or removed since the backup")
    .addHelpText(
      "after",
      `
Saves the current content first, up to the last change, as <file>.before-<time> (restore.before-<time> for -).
Restrictions from the last 400 days stay in place and are listed: keys that were revoked, rotated or given fewer rights,
operators that were removed or given fewer rights, webhooks that were removed, paused, rotated or given another URL,
and sites that were suspended. Sites removed since the backup come back.`,
    )
    .action(async (file: string, { asOfBackup: isAsOfBackup, ...options }: RestoreFlags) => {
      const now = Date.now();
      const base = isStandardInput(file) ? "restore" : file;
      const keep = `${base}.before-${new Date(now).toISOString().replaceAll(":", "-")}`;
      const restored = await withProgress(async (progress) => {
        const total = await verifyBackup(
          file,
          countRows((rows) => progress.show("verifying", rows)),
        );
        return withNewEngine(options, async (engine) => {
          const done = await restore(withRowProgress(engine, progress, total), file, keep, now, { isAsOfBackup });
          await recordInLog(engine, { kind: "restore" }, file);
          return done;
        });
      });
      const { unrelatedSites, ...others } = restored;
      // `--json` has always called this `otherHistories`.
      printResult(options, { file, ...others, otherHistories: unrelatedSites }, []);
      printMessage([`restored ${restored.rows} rows from ${file}`, ...consequences(restored)].join("; "));
      for (const line of restrictionLines(restored)) printMessage(line);
    });
}

/** What happened to the previous content: how many changes were discarded, and where it's saved. */
function consequences({ kept, discarded, unrelatedSites }: Restored): string[] {
  if (kept.length === 0) return [];
  const lost = `${formatCount(discarded, "change")} made since the backup ${discarded === 1 ? "is" : "are"}`;
  const uncounted = `the changes of ${formatCount(unrelatedSites, "site")} can't be counted, because the backup is from another history`;
  return [
    ...(unrelatedSites === 0 || discarded > 0 ? [`${lost} discarded`] : []),
    ...(unrelatedSites > 0 ? [uncounted] : []),
    `the previous content is in ${kept.join(" and ")}`,
  ];
}

// What `restore` says about keys, operators, webhooks and sites that were restricted since the backup.

/** Caps both lists: the restrictions that stay and those that end. */
const maxLines = 100;

/** "the key sfk_12345678 " + "stays revoked" */
const stayingEnds: Record<Restriction["change"], string> = {
  revoked: "stays revoked",
  changed: "keeps the URL it was given since the backup",
  narrowed: "keeps its narrower rights",
  rotated: "stays rotated, and its replacement stays valid",
  unsigned:
    "is paused, because its secret was rotated since the backup and the new one is lost: run `webhook rotate`, then `webhook resume`",
  removed: "stays removed",
  paused: "stays paused",
  suspended: "stays suspended",
};

/** "the key sfk_12345678 " + "is valid again (revoked since the backup)" */
const revivedEnds: Record<Restriction["change"], string> = {
  revoked: "is valid again (revoked since the backup)",
  changed: "delivers to this URL again (its URL has changed since the backup)",
  narrowed: "has its wider rights again (narrowed since the backup)",
  rotated: "is valid again (rotated since the backup)",
  unsigned: "signs with the backup's secret again (rotated since the backup)",
  removed: "is back (removed since the backup)",
  paused: "delivers again (paused since the backup)",
  suspended: "is served again (suspended since the backup)",
};

function restrictionLines({ stays, revived, isUnknown, knownSince }: Restored): string[] {
  const review = "review `key list`, `operator list` and `webhook list`";
  const unknown = knownSince
    ? `this database no longer knows what was revoked between the backup and ${knownSince}: ${review}`
    : `the backup is from another database, so this one doesn't know what has been revoked there since: ${review}`;
  return [...(isUnknown ? [unknown] : []), ...linesAbout(stays, stayingEnds), ...linesAbout(revived, revivedEnds)];
}

function linesAbout(restrictions: readonly Restriction[], ends: Record<Restriction["change"], string>): string[] {
  const lines = restrictions.slice(0, maxLines).map(({ kind, name, site, change }) => {
    const subject =
      change === "rotated" && kind === "webhook" ? `the secret of the webhook ${name}` : `the ${kind} ${name}`;
    return `${subject}${site ? ` of ${site}` : ""} ${ends[change]}`;
  });
  const more = restrictions.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more; use \`--json\` to see them all`] : lines;
}
