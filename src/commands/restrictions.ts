// What `restore` says about keys, operators, webhooks and sites that were restricted since the backup.

import type { Restored } from "../operator/backup.ts";
import type { Restriction } from "../operator/restrictions.ts";
import { counted } from "./common.ts";

/** Lines of one kind at most; `--json` has them all. */
const maxLines = 100;

/** What each restriction means, for one that stays and for one that is undone. */
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

export function restrictionLines({ stays, revived, isUnknown }: Restored): string[] {
  if (isUnknown) {
    const detail = "it cannot be known what was revoked, removed or suspended since the backup";
    return [
      `the target knew nothing of these sites, keys and operators: ${detail}; look at \`key list\` and \`operator list\``,
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
  return more > 0 ? [...lines, `and ${counted(more, "more line")}: \`--json\` has them all`] : lines;
}
