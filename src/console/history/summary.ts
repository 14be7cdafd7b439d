// Describes an entry of the history, and names its actor.

import type { HistoryEntryInfo } from "../../admin/api/record-types.ts";
import { useDeclared } from "../shell/site-context.ts";
import { capitalized, toNumber } from "../text/locale.ts";
import { showInvisible } from "../text/show-invisible.ts";
import { translate } from "../text/translate.ts";

/** Describes an entry of the history in a few words. */
export function useSummary({ counts, resources, change, first, last }: HistoryEntryInfo): string {
  const declared = useDeclared();
  const nameOf = (path: string, isPlural: boolean) => {
    const found = declared.resources.find((resource) => resource.path === path);
    return found ? (isPlural ? found.plural : found.singular) : path;
  };
  if (first === last) {
    const name = (change.after ?? change.before)?.Name;
    return translate(`history.one_${change.operation}`, {
      resource: nameOf(change.resource, false),
      name: name === undefined ? `${change.id}` : showInvisible(String(name)),
    });
  }
  const what = resources.map((path) => nameOf(path, true)).join(", ");
  const parts = operations.flatMap((operation) => {
    const count = counts[operation];
    return count ? [translate(`history.many_${operation}`, { count: toNumber(count) })] : [];
  });
  return capitalized(`${joined(parts, translate("history.and"))} ${what}`);
}

const operations = ["create", "update", "delete"] as const;

/** Joins the parts of a summary: `created 3, changed 2 and deleted 1`. */
function joined(parts: readonly string[], and: string): string {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} ${and} ${parts.at(-1)}`;
}

/**
 * Names who made a change for people: `anna` for `console:anna`, `root (command line)` for `operator:root`, and a key by its label.
 * @param actorLabel the label of the key
 */
export function nameOfActor({ actor, actorLabel }: Pick<HistoryEntryInfo, "actor" | "actorLabel">): string {
  if (actorLabel) return translate("history.actor_key", { name: showInvisible(actorLabel) });
  const [kind = "", ...rest] = actor.split(":");
  const name = rest.join(":");
  return name !== "" && (kind === "console" || kind === "operator")
    ? translate(`history.actor_${kind}`, { name: showInvisible(name) })
    : showInvisible(actor);
}
