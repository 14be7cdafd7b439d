// Describes a change in the history: in a few words, by who made it, and by the old and new values of its fields.

import { Box, Table, TableBody, TableCell, TableRow, Typography } from "@mui/material";
import type { HistoryEntryInfo, RecordValues } from "../../admin/api/record-types.ts";
import { pluralOf, singularOf, useDeclared } from "../shell/site-context.ts";
import { differences, fullLabelOf } from "../text/fields.ts";
import { capitalize, toNumber } from "../text/locale.ts";
import { showInvisible, translate } from "../text/translate.ts";

export function useSummary({ counts, resources, change, first, last }: HistoryEntryInfo): string {
  const declared = useDeclared();
  if (first === last) {
    const name = (change.after ?? change.before)?.Name;
    return translate(`history.one_${change.operation}`, {
      resource: singularOf(declared.resources, change.resource),
      name: name === undefined ? `${change.id}` : showInvisible(String(name)),
    });
  }
  const names = resources.map((path) => pluralOf(declared.resources, path)).join(", ");
  const what = resources.length === 1 ? names : translate("history.records_of", { names });
  const parts = operations.flatMap((operation) => {
    const count = counts[operation];
    return count ? [translate(`history.many_${operation}`, { count: toNumber(count) })] : [];
  });
  return capitalize(`${joinParts(parts, translate("history.and"))} ${what}`);
}

const operations = ["create", "update", "delete"] as const;

/** Joins the parts of a summary, such as `created 3, changed 2 and deleted 1`. */
function joinParts(parts: readonly string[], and: string): string {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} ${and} ${parts.at(-1)}`;
}

/** Names who made a change: `anna` for `console:anna`, `root (command line)` for `operator:root`, and keys by their label. */
export function nameOfActor({ actor, actorLabel }: Pick<HistoryEntryInfo, "actor" | "actorLabel">): string {
  if (actorLabel) return translate("history.actor_key", { name: showInvisible(actorLabel) });
  const [kind = "", ...rest] = actor.split(":");
  const name = rest.join(":");
  return name !== "" && (kind === "console" || kind === "operator")
    ? translate(`history.actor_${kind}`, { name: showInvisible(name) })
    : showInvisible(actor);
}

/** Keeps the old value left of the new one, even if both are written from right to left. */
const isolated = { unicodeBidi: "isolate" } as const;
const oldValue = { ...isolated, color: "error.main", overflowWrap: "anywhere" } as const;
const newValue = { ...isolated, color: "success.main", textDecoration: "none", overflowWrap: "anywhere" } as const;

export function ChangedFields({
  before,
  after,
}: {
  readonly before: RecordValues | null;
  readonly after: RecordValues | null;
}) {
  const fields = differences(before, after);
  if (fields.length === 0) return <Typography>{translate("history.nothing")}</Typography>;
  return (
    <Box sx={{ overflowX: "auto" }}>
      <Table size="small">
        <TableBody>
          {fields.map((field) => (
            <TableRow key={field.path}>
              <TableCell component="th" scope="row" sx={{ color: "text.secondary", width: 180, maxWidth: "45vw" }}>
                {fullLabelOf(field.path)}
              </TableCell>
              <TableCell>
                <OldAndNewValue before={field.before} after={field.after} />
              </TableCell>
            </TableRow>
          ))}
        </TableBody>
      </Table>
    </Box>
  );
}

/** Shows a field's old and new value, leaving out empty ones. */
export function OldAndNewValue({ before, after }: { readonly before: string; readonly after: string }) {
  return (
    <>
      {before && (
        <Box component="del" sx={oldValue}>
          {showInvisible(before)}
        </Box>
      )}
      {before && after && " "}
      {after && (
        <Box component="ins" sx={newValue}>
          {showInvisible(after)}
        </Box>
      )}
    </>
  );
}
