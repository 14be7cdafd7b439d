// The rows of one kind in the report of a dry run or import: what each row changes, or its errors.

import {
  Box,
  Checkbox,
  FormControlLabel,
  List,
  ListItem,
  ListItemText,
  TablePagination,
  Typography,
} from "@mui/material";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ImportKind, ImportRowInfo } from "../../admin/api/record-types.ts";
import { OldAndNewValue } from "../history/changed-fields.tsx";
import { LoadingLines, ReadFailed } from "../shell/query-result.tsx";
import { useSiteName } from "../shell/site-context.ts";
import { differences, fullLabelOf } from "../text/fields.ts";
import { showInvisible } from "../text/show-invisible.ts";
import { translate } from "../text/translate.ts";
import { readImportRows } from "./imports.ts";

interface RowListProps {
  readonly id: string;
  readonly kind: ImportKind;
  readonly isExcluded: (row: number) => boolean;
  readonly areAllExcluded: boolean;
  readonly areSomeExcluded: boolean;
  readonly onExclude: (row: number, isExcluded: boolean) => void;
  readonly onExcludeAll: (isExcluded: boolean) => void;
}

const pageSize = 25;

/** Lists the rows of one kind, page by page, with the changes of each row. */
export function RowList({
  id,
  kind,
  isExcluded,
  areAllExcluded,
  areSomeExcluded,
  onExclude,
  onExcludeAll,
}: RowListProps) {
  const siteName = useSiteName();
  const [page, setPage] = useState(0);
  const { data, error, refetch } = useQuery({
    queryKey: ["import-rows", siteName, id, kind, page],
    queryFn: () => readImportRows(siteName, id, { kind, offset: page * pageSize, limit: pageSize }),
    placeholderData: keepPreviousData,
    retry: false,
    gcTime: 0,
  });
  const canChoose = kind === "created" || kind === "updated";
  if (error) return <ReadFailed error={error} onRetry={refetch} />;
  if (!data) return <LoadingLines />;
  if (data.total === 0) return <Typography color="textSecondary">{translate("import.no_rows")}</Typography>;
  return (
    <div>
      {canChoose && (
        <FormControlLabel
          control={
            <Checkbox
              checked={!areAllExcluded}
              indeterminate={!areAllExcluded && areSomeExcluded}
              onChange={() => onExcludeAll(!areAllExcluded)}
            />
          }
          label={translate("import.import_all")}
          sx={{ ml: 0 }}
        />
      )}
      <List dense disablePadding>
        {data.rows.map((row) => (
          <Row
            key={row.row}
            row={row}
            {...(canChoose ? { onExclude: (isExcluded: boolean) => onExclude(row.row, isExcluded) } : {})}
            isExcluded={isExcluded(row.row)}
            isFixed={areAllExcluded}
          />
        ))}
      </List>
      <TablePagination
        component="div"
        count={data.total}
        page={page}
        rowsPerPage={pageSize}
        rowsPerPageOptions={[pageSize]}
        onPageChange={(_, newPage) => setPage(newPage)}
      />
    </div>
  );
}

interface RowProps {
  readonly row: ImportRowInfo;
  /** Called when the operator excludes or includes the row. Absent for rows that change nothing. */
  readonly onExclude?: (isExcluded: boolean) => void;
  readonly isExcluded: boolean;
  readonly isFixed: boolean;
}

function Row({ row, onExclude, isExcluded, isFixed }: RowProps) {
  const name = showInvisible((row.after?.Name ?? "") as string);
  const title = [
    translate("import.row", { row: row.row }),
    name,
    row.kind === "created" || row.id === null ? "" : `ID ${row.id}`,
  ];
  return (
    <ListItem divider disableGutters sx={{ alignItems: "flex-start", opacity: isExcluded ? 0.6 : 1 }}>
      {onExclude && (
        <Checkbox
          checked={!isExcluded}
          disabled={isFixed}
          onChange={(_, isIncluded) => onExclude(!isIncluded)}
          slotProps={{ input: { "aria-label": translate("import.import_row", { row: row.row }) } }}
        />
      )}
      <ListItemText
        primary={title.filter(Boolean).join(" · ")}
        secondary={<RowChanges row={row} />}
        slotProps={{ primary: { sx: { overflowWrap: "anywhere" } }, secondary: { component: "div" } }}
      />
    </ListItem>
  );
}

/** Maximum number of errors to show for a row. */
const maxFaults = 5;

/** Shows what a row changes, field by field, or why it is rejected. */
function RowChanges({ row }: { readonly row: ImportRowInfo }) {
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
      {differences(before, after).map((field) => (
        <div key={field.path}>
          {fullLabelOf(field.path)}: <OldAndNewValue before={field.before} after={field.after} />
        </div>
      ))}
    </Box>
  );
}
