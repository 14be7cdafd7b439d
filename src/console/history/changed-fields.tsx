// A table of the fields that a change has changed, each with its old and its new value.

import { Box, Table, TableBody, TableCell, TableRow, Typography } from "@mui/material";
import type { RecordValues } from "../../admin/api/record-types.ts";
import { differences, fullLabelOf } from "../text/fields.ts";
import { showInvisible } from "../text/show-invisible.ts";
import { translate } from "../text/translate.ts";

/** Keeps the old value on the left of the new value, even if both are written from right to left. */
const isolated = { unicodeBidi: "isolate" } as const;
const oldValue = { ...isolated, color: "error.main", overflowWrap: "anywhere" } as const;
const newValue = { ...isolated, color: "success.main", textDecoration: "none", overflowWrap: "anywhere" } as const;

/** Shows what a change did to a record, field by field. */
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

/** Shows the old and the new value of a field. An empty value is not shown. */
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
