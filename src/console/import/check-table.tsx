// The entries of one kind in the report of a check or import, with what changes in which field, or a rejected row's values and the reasons.

import { Box, TablePagination, Typography } from "@mui/material";
import { keepPreviousData } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import type { ImportRowInfo, ImportRowsResponse } from "../../admin/api/record-types.ts";
import { OldAndNewValue } from "../history/description.tsx";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { Tick } from "../shell/fields.tsx";
import { LoadingLines, ReadFailed } from "../shell/query-result.tsx";
import { useDeclared } from "../shell/site-context.ts";
import { useRead, useSitePath } from "../shell/site-data.ts";
import { describeFault, describeFieldError, fullLabelOf, textAt } from "../text/fields.ts";
import { showInvisible, toSentence, translate } from "../text/translate.ts";
import type { EntryKind } from "./imports.ts";

interface CheckTableProps {
  /** The import's ID. */
  readonly id: string;
  /** The resource's path. */
  readonly resource: string;
  readonly kind: EntryKind;
  /** Which rows are excluded; undefined if none can be. */
  readonly exclusion?: Exclusion | undefined;
  readonly onExclude?: (exclusion: Exclusion) => void;
}

export interface Exclusion {
  /** Whether all rows of the kind are excluded. */
  readonly isAll: boolean;
  /** Numbers of the rows that are excluded individually. */
  readonly rows: ReadonlySet<number>;
}

const pageSize = 50;

export function CheckTable({ id, resource, kind, exclusion, onExclude = () => {} }: CheckTableProps) {
  const paths = usePaths(resource);
  const [page, setPage] = useState(0);
  const { data, error, refetch } = useRead<ImportRowsResponse>(
    useSitePath(`/imports/${id}/rows?kind=${kind}&offset=${page * pageSize}&limit=${pageSize}`),
    { placeholderData: keepPreviousData, retry: false, gcTime: 0 },
  );
  const columns = useMemo(() => (data ? toColumns(data.rows, kind, paths) : []), [data, kind, paths]);
  if (error) return <ReadFailed error={error} onRetry={refetch} />;
  if (!data) return <LoadingLines />;
  if (data.total === 0) return <Typography color="textSecondary">{translate("import.no_rows")}</Typography>;
  return (
    <div>
      {exclusion && data.total > pageSize && <AllRows exclusion={exclusion} onExclude={onExclude} />}
      <DataList
        label={translate(`import.list_${kind}`)}
        rows={data.rows}
        columns={columns}
        rowKey={keyOf}
        nameOf={nameForReaders}
        selection={exclusion && !exclusion.isAll ? toSelection(data.rows, exclusion, onExclude) : undefined}
        isPale={({ row }) => exclusion !== undefined && (exclusion.isAll || exclusion.rows.has(row))}
      />
      {data.total > pageSize && (
        <TablePagination
          component="div"
          count={data.total}
          page={page}
          rowsPerPage={pageSize}
          rowsPerPageOptions={[pageSize]}
          onPageChange={(_, newPage) => setPage(newPage)}
        />
      )}
    </div>
  );
}

function usePaths(resource: string): readonly string[] {
  const { resources } = useDeclared();
  return useMemo(
    () => resources.find(({ path }) => path === resource)?.fields.map(({ path }) => path) ?? [],
    [resources, resource],
  );
}

type ExclusionProps = Required<Pick<CheckTableProps, "onExclude">> & { readonly exclusion: Exclusion };

function AllRows({ exclusion, onExclude }: ExclusionProps) {
  const { isAll, rows } = exclusion;
  return (
    <Tick
      label={translate("import.import_all")}
      checked={!isAll}
      indeterminate={!isAll && rows.size > 0}
      onChange={() => onExclude({ ...exclusion, isAll: !isAll })}
    />
  );
}

function toSelection(shown: readonly ImportRowInfo[], exclusion: Exclusion, onExclude: ExclusionProps["onExclude"]) {
  const numbers = shown.map(({ row }) => row);
  return {
    keys: new Set(numbers.filter((row) => !exclusion.rows.has(row))),
    onChange(ticked: ReadonlySet<string | number>) {
      const rows = [...exclusion.rows, ...numbers].filter((row) => !ticked.has(row));
      onExclude({ ...exclusion, rows: new Set(rows) });
    },
  };
}

function keyOf({ row, id }: ImportRowInfo): number {
  return row || -(id ?? 0);
}

/** Names an entry for screen readers and the label of its checkbox. */
function nameForReaders({ row, before, after }: ImportRowInfo): string {
  const name = showInvisible(textAt(after ?? before ?? {}, "Name"));
  return row === 0 ? name : translate("import.row", { row, name });
}

const maxFaults = 5;

/** Returns columns for only those fields that some entry on the page has or would change. */
function toColumns(
  rows: readonly ImportRowInfo[],
  kind: EntryKind,
  paths: readonly string[],
): DataColumn<ImportRowInfo>[] {
  const shown = paths.filter((path) => path !== "Name" && rows.some((row) => hasContent(row, kind, path)));
  const columns: DataColumn<ImportRowInfo>[] = [
    {
      name: "Name",
      label: fullLabelOf("Name"),
      isPrimary: true,
      attributes: () => ({ style: { minWidth: 160 } }),
      render: (row) => contentOf(row, "Name") ?? translate("import.no_name"),
    },
    ...shown.map((path) => ({
      name: path,
      label: fullLabelOf(path),
      render: (row: ImportRowInfo) => contentOf(row, path),
    })),
  ];
  const numbers = { name: "row", label: translate("import.row_number"), render: ({ row }: ImportRowInfo) => row };
  const ids = { name: "id", label: "ID", render: ({ id }: ImportRowInfo) => id };
  if (kind === "missing") return [ids, ...columns];
  if (kind === "warned") return [numbers, ...columns.slice(0, 1), warningColumn];
  if (kind === "rejected") {
    const inCells = new Set(["Name", ...shown]);
    const hasOthers = rows.some(({ faults }) => faults.some(({ field }) => !inCells.has(field)));
    return [numbers, ...columns, ...(hasOthers ? [reasonColumn(inCells)] : [])];
  }
  return kind === "created" ? [numbers, ...columns] : [numbers, ids, ...columns];
}

function hasContent({ before, after, faults }: ImportRowInfo, kind: EntryKind, path: string): boolean {
  if (kind === "unchanged") return false;
  const [old, now] = [textAt(before ?? {}, path), textAt(after ?? {}, path)];
  return kind === "updated" ? old !== now : old !== "" || now !== "" || faults.some(({ field }) => field === path);
}

/** Shows a field's value before and after, or its rejected value and why. */
function contentOf(row: ImportRowInfo, path: string): ReactNode {
  const { kind, before, after, faults } = row;
  const [old, now] = [textAt(before ?? {}, path), textAt(after ?? {}, path)];
  const reasons = faults.filter(({ field }) => field === path);
  if (reasons.length > 0) {
    return (
      <Box component="span" sx={{ color: "error.main" }}>
        {now && <strong>{showInvisible(now)}</strong>}
        {now && ": "}
        {reasons.map(describeFault).join(" ")}
      </Box>
    );
  }
  if (kind === "updated" && old !== now) return <OldAndNewValue before={old} after={now} />;
  if (kind === "created") return now && <OldAndNewValue before="" after={now} />;
  if (kind === "missing") return old && <OldAndNewValue before={old} after="" />;
  return now === "" ? null : showInvisible(now);
}

const warningColumn: DataColumn<ImportRowInfo> = {
  name: "warning",
  label: translate("import.warning"),
  render: ({ warnings }) =>
    warnings.slice(0, maxFaults).map(({ column, field, detail }) => {
      const place = column ?? (field && fullLabelOf(field));
      return <div key={`${place} ${detail}`}>{`${place ? `${showInvisible(place)}: ` : ""}${toSentence(detail)}`}</div>;
    }),
};

/** The column for reasons that don't belong to any of the table's fields. @param shown those fields */
function reasonColumn(shown: ReadonlySet<string>): DataColumn<ImportRowInfo> {
  return {
    name: "reason",
    label: translate("import.reason"),
    render: ({ faults }) => {
      const others = faults.filter(({ field }) => !shown.has(field));
      if (others.length === 0) return null;
      return (
        <Box component="span" sx={{ color: "error.main" }}>
          {others.slice(0, maxFaults).map((error) => (
            <div key={error.field + error.detail}>{describeFieldError(error)}</div>
          ))}
          {others.length > maxFaults && translate("general.and_more", { count: others.length - maxFaults })}
        </Box>
      );
    },
  };
}
