import { Box } from "@mui/material";
import { useTranslate } from "react-admin";
import type { ImportRowInfo } from "../../admin/api/types.ts";
import { fullLabelOf } from "../api/declarations.ts";
import { newValue, oldValue } from "../history/changed-fields.tsx";
import { differences } from "../history/history.ts";
import { visible } from "../text/visible.ts";

/** Maximum number of errors to show for a row. */
const maxFaults = 5;

/** Shows what a row changes, field by field, or why it is rejected. */
export function RowChanges({ row }: { readonly row: ImportRowInfo }) {
  const translate = useTranslate();
  const { before, after, faults } = row;
  if (faults.length > 0) {
    return (
      <Box sx={{ color: "error.main", overflowWrap: "anywhere" }}>
        {faults.slice(0, maxFaults).map(({ field, detail }) => (
          <div key={field + detail}>{field ? `${fullLabelOf(field)}: ${detail}` : detail}</div>
        ))}
        {faults.length > maxFaults && translate("import.more_faults", { count: faults.length - maxFaults })}
      </Box>
    );
  }
  if (!after) return null;
  return (
    <Box sx={{ overflowWrap: "anywhere" }}>
      {differences(before, after).map(({ path, before: old, after: now }) => (
        <div key={path}>
          {fullLabelOf(path)}:{" "}
          {old && (
            <Box component="del" sx={oldValue}>
              {visible(old)}
            </Box>
          )}{" "}
          {now && (
            <Box component="ins" sx={newValue}>
              {visible(now)}
            </Box>
          )}
        </div>
      ))}
    </Box>
  );
}
