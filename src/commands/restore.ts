// The command `restore`.

import { Command } from "commander";
import { type Restored, restore, verifyBackup } from "../operator/backup/backup.ts";
import type { Restriction } from "../operator/backup/restrictions.ts";
import { isStandardInput } from "../operator/files/standard-streams.ts";
import { withNewEngine } from "./shared/database.ts";
import { type CommonOptions, withCommonOptions } from "./shared/options.ts";
import { formatCount, printMessage, printResult } from "./shared/output.ts";
import { countRows, withProgress, withRowProgress } from "./shared/progress.ts";

interface RestoreFlags extends CommonOptions {
  readonly asOfBackup?: true;
}

export function restoreCommand(): Command {
  return withCommonOptions(new Command("restore"))
    .description("replace the whole database with a backup; servers may keep running")
    .argument("<file>", "backup to read, or - for standard input")
    .option("--as-of-backup", "revive what was revoked or removed since the backup, too")
    .addHelpText(
      "after",
      `
The present content, up to the last change, is saved as <file>.before-<time> (with -, as restore.before-<time>).
What was restricted in the last 400 days stays so, and is listed: keys that were revoked, narrowed or rotated,
operators that were removed or narrowed, webhooks that were removed, paused, rotated or given another URL, and sites
that were suspended. Sites that were removed since the backup come back.`,
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
        return withNewEngine(options, (engine) =>
          restore(withRowProgress(engine, progress, total), file, keep, now, { isAsOfBackup }),
        );
      });
      const { unrelatedSites, ...others } = restored;
      // The output of `--json` names the unrelated sites `otherHistories`.
      printResult(options, { file, ...others, otherHistories: unrelatedSites }, []);
      printMessage([`restored ${restored.rows} rows from ${file}`, ...consequences(restored)].join("; "));
      for (const line of restrictionLines(restored)) printMessage(line);
    });
}

/** Describes what happened to the previous content: how many changes were discarded, and where the content is saved. */
function consequences({ kept, discarded, unrelatedSites }: Restored): string[] {
  if (kept.length === 0) return [];
  const lost = `${formatCount(discarded, "change")} made since the backup ${discarded === 1 ? "is" : "are"}`;
  const uncounted = `the changes of ${formatCount(unrelatedSites, "site")} cannot be counted, because the backup is not an earlier state of them`;
  return [
    ...(unrelatedSites === 0 || discarded > 0 ? [`${lost} discarded`] : []),
    ...(unrelatedSites > 0 ? [uncounted] : []),
    `the previous content is in ${kept.join(" and ")}`,
  ];
}

// Messages of `restore` about keys, operators, webhooks and sites that were restricted since the backup.

/** Maximum lines about restrictions that stay. The lines about restrictions that end have the same maximum. `--json` lists all. */
const maxLines = 100;

/** How a sentence about a restriction that stays ends: "the key sfk_12345678 stays revoked". */
const stayingEnds: Record<Restriction["change"], string> = {
  revoked: "stays revoked",
  changed: "keeps the URL it was given after the backup",
  narrowed: "keeps its narrower rights",
  rotated: "stays rotated, and its replacement valid",
  unsigned:
    "is paused, because its secret was rotated after the backup and the new one is lost: run `webhook rotate`, then `webhook resume`",
  removed: "stays removed",
  paused: "stays paused",
  suspended: "stays suspended",
};

/** How a sentence about a restriction that the restore has ended ends: "the key sfk_12345678 is valid again: it was revoked since the backup". */
const revivedEnds: Record<Restriction["change"], string> = {
  revoked: "is valid again: it was revoked since the backup",
  changed: "delivers to this URL again: its URL was changed since the backup",
  narrowed: "has its wider rights again",
  rotated: "is valid again: it was rotated since the backup",
  unsigned: "signs with the secret of the backup again: it was rotated since",
  removed: "is there again: it was removed since the backup",
  paused: "delivers again: it was paused since the backup",
  suspended: "is served again: it was suspended since the backup",
};

function restrictionLines({ stays, revived, isUnknown, knownSince }: Restored): string[] {
  const review = "review `key list`, `operator list` and `webhook list`";
  const unknown = knownSince
    ? `the backup is from before ${knownSince}, and what was revoked before then may be forgotten: ${review}`
    : `another database made the backup, so what was revoked there since can't be known here: ${review}`;
  return [...(isUnknown ? [unknown] : []), ...linesAbout(stays, stayingEnds), ...linesAbout(revived, revivedEnds)];
}

function linesAbout(restrictions: readonly Restriction[], ends: Record<Restriction["change"], string>): string[] {
  const lines = restrictions.slice(0, maxLines).map(({ kind, name, site, change }) => {
    const subject =
      change === "rotated" && kind === "webhook" ? `the secret of the webhook ${name}` : `the ${kind} ${name}`;
    return `${subject}${site ? ` of ${site}` : ""} ${ends[change]}`;
  });
  const more = restrictions.length - lines.length;
  return more > 0 ? [...lines, `and ${formatCount(more, "more line")}: \`--json\` has them all`] : lines;
}
