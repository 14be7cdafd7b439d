// A resource's page: the list of its records, with editable cells, and a record's form at its side.

import { Box, Button, Drawer, IconButton, Stack, Typography } from "@mui/material";
import { Suspense, useCallback, useEffect, useMemo } from "react";
import type { RecordsResponse } from "../../admin/api/record-types.ts";
import type { FieldInfo, ResourceInfo } from "../../admin/api/types.ts";
import { FaultBoundary } from "../frame/access-notices.tsx";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { iconOf, NextIcon, PreviousIcon } from "../shell/icons.tsx";
import { lazyPart } from "../shell/lazy-part.tsx";
import { useDocumentTitle } from "../shell/page.tsx";
import { EmptyList, LoadingLines, ReadFailed } from "../shell/query-result.tsx";
import { Link, navigate, useLocation } from "../shell/router.tsx";
import { useCan, useSiteName } from "../shell/site-context.ts";
import { barHeight, onTouch, useIsNarrow } from "../shell/theme.ts";
import { fullLabelOf, textAt } from "../text/fields.ts";
import { capitalize, toNumber } from "../text/locale.ts";
import { nameOf, showInvisible, translate } from "../text/translate.ts";
import { CellContent, cellAttributes, type TableRecord, textIn, useCellEditing } from "./cell-editing.tsx";
import { countPages, type ListState, rowChoices, useListState } from "./list-state.ts";
import { usePending } from "./pending-edits.tsx";
import { useRecordPage } from "./record-data.ts";
import { useSelection } from "./selection.tsx";
import { Toolbar } from "./toolbar.tsx";

const NewRecord = lazyPart(async () => (await import("../frame/overview-parts.ts")).NewRecord);
const EditRecord = lazyPart(async () => (await import("../frame/overview-parts.ts")).EditRecord);

interface RecordTableProps {
  readonly resource: ResourceInfo;
}

export function RecordTable({ resource }: RecordTableProps) {
  useDocumentTitle(capitalize(resource.plural));
  const list = useListState(resource);
  const result = useRecordPage(resource.path, list.query);
  const { page } = result;
  const pending = usePending(resource);
  const selection = useSelection({ resource, list, page, onDeleted: pending.forget });
  const shown = result.isStale ? undefined : page;
  useKnownPage(list, shown?.total);
  return (
    <Box sx={pageStyle}>
      <Toolbar resource={resource} list={list} page={shown} selected={selection.actions} />
      {!page && (result.error ? <ReadFailed error={result.error} onRetry={result.refetch} /> : <LoadingLines />)}
      {page && (
        <RecordList
          resource={resource}
          list={list}
          page={page}
          result={result}
          pending={pending}
          selection={selection.ticks}
        />
      )}
      {page && page.total > 0 && (
        <Pages list={list} total={page.total} isSaving={pending.isSaving} isStale={result.isStale} />
      )}
      {pending.bar}
      {selection.dialog}
      <FormBeside resource={resource} address={list.address} pending={pending} />
    </Box>
  );
}

/** Fills the window, so that the headings, the pages and the bar of edits stay in place while the table scrolls. */
const pageStyle = {
  display: "flex",
  flexDirection: "column",
  minHeight: `calc(100dvh - ${barHeight}px)`,
  "& > *": { flexShrink: 0 },
  "& > :has(> [role=grid])": { flexShrink: 1, overflow: "auto", scrollPaddingBlock: "40px 8px" },
  "@media (min-width: 600px) and (min-height: 480px)": { height: `calc(100dvh - ${barHeight}px)` },
  "@media print": { "&&": { height: "auto" } },
} as const;

/** Goes to the last page if the address has a higher number, for example because records were deleted. */
function useKnownPage({ query, showPage }: ListState, total: number | undefined): void {
  const last = total === undefined ? undefined : countPages(total, query.rows);
  const isBeyond = last !== undefined && query.page > last;
  // biome-ignore lint/correctness/useExhaustiveDependencies: showPage is a new function at each rendering
  useEffect(() => {
    if (isBeyond && last !== undefined) showPage(last, true);
  }, [isBeyond, last]);
}

interface RecordListProps extends RecordTableProps {
  readonly list: ListState;
  readonly page: RecordsResponse;
  readonly result: ReturnType<typeof useRecordPage>;
  readonly pending: ReturnType<typeof usePending>;
  readonly selection: ReturnType<typeof useSelection>["ticks"];
}

const nameIn = ({ item, staged }: TableRecord) =>
  nameOf(staged?.texts.get("Name") ?? textAt(item.record, "Name"), item.record.ID);

function RecordList({ resource, list, page, result, pending, selection }: RecordListProps) {
  const siteName = useSiteName();
  const isNarrow = useIsNarrow();
  const canEdit = useCan("records") && !isNarrow && !pending.isSaving;
  const { columns: paths, query, sortBy, address } = list;
  const base = `/${siteName}/${resource.path}`;
  const { rows, table } = useCellEditing({ list, page, result, pending });
  const hrefOf = useCallback((row: TableRecord) => `${base}/${row.item.record.ID}${address}`, [base, address]);
  const columns = useMemo(
    () => (isNarrow ? cardColumns(paths) : tableColumns(resource, paths, canEdit, hrefOf)),
    [isNarrow, resource, paths, canEdit, hrefOf],
  );
  return (
    <DataList
      label={capitalize(resource.plural)}
      rows={rows}
      columns={columns}
      rowKey={({ item }) => item.record.ID}
      nameOf={nameIn}
      hrefOf={isNarrow ? hrefOf : undefined}
      selection={selection}
      sort={{ by: query.by, isDescending: query.isDescending, onSort: (sort) => sortBy(sort.by, sort.isDescending) }}
      table={{
        ...table,
        "aria-busy": result.isStale || pending.isSaving,
        "aria-readonly": !canEdit,
        "aria-describedby": keysId,
      }}
      empty={<NoRecords resource={resource} list={list} suggestions={page.suggestions} />}
    />
  );
}

/** On a phone: the name, which links to the record, and the other chosen fields that have a value. */
function cardColumns(paths: readonly string[]): readonly DataColumn<TableRecord>[] {
  return ["Name", ...paths.filter((path) => path !== "Name")].map((path) => ({
    name: path,
    label: fullLabelOf(path),
    isPrimary: path === "Name",
    render: (row) =>
      path === "Name"
        ? nameIn(row)
        : (textIn(row, path) || row.staged?.texts.has(path)) && <CellContent row={row} path={path} />,
    attributes: (row) => cellAttributes(row, path, false),
  }));
}

/** The ID, which links to the record, and a column per chosen field. */
function tableColumns(
  { fields }: ResourceInfo,
  paths: readonly string[],
  canEdit: boolean,
  hrefOf: (row: TableRecord) => string,
): readonly DataColumn<TableRecord>[] {
  const id: DataColumn<TableRecord> = {
    name: "ID",
    label: "ID",
    sortable: true,
    width: 72,
    isFixed: true,
    render: (row) => (
      <Link
        to={hrefOf(row)}
        className="opener"
        aria-label={translate("list.open", { name: nameIn(row), id: row.item.record.ID })}
      >
        {row.item.record.ID}
      </Link>
    ),
    attributes: () => ({ "aria-readonly": true }),
  };
  const shown = fields.filter(({ path }) => paths.includes(path));
  const columns = shown.map(
    ({ path, max }): DataColumn<TableRecord> => ({
      name: path,
      label: fullLabelOf(path),
      sortable: true,
      width: columnWidth({ path, max }),
      render: (row) => <CellContent row={row} path={path} />,
      attributes: (row) => cellAttributes(row, path, canEdit),
    }),
  );
  return [id, ...columns];
}

/** Returns the width of a field's column in px, wide enough for its heading and typical texts. In a wide window, columns grow in proportion. */
function columnWidth({ path, max }: Pick<FieldInfo, "path" | "max">): number {
  const usual = path === "Name" ? 180 : max <= 3 ? 72 : /Email$|Line\d$/.test(path) ? 140 : 110;
  return Math.max(usual, fullLabelOf(path).length * 7.5 + 32);
}

const keysId = "table-keys";
/** The keys are only of interest once the table has the focus. */
const shownInTable = { "main:has([role=grid]:focus-within) &": { visibility: "visible" } };

interface PagesProps extends Pick<RecordListProps, "list"> {
  readonly total: number;
  /** Whether the list can't be edited at the moment. */
  readonly isSaving: boolean;
  readonly isStale: boolean;
}

/** What the table's keys do, which records are shown, buttons for the next and previous pages, and the number of rows per page. */
function Pages({ list, total, isSaving, isStale }: PagesProps) {
  const isNarrow = useIsNarrow();
  const canEdit = useCan("records");
  const { page, rows } = list.query;
  const from = (page - 1) * rows + 1;
  const to = Math.min(total, page * rows);
  return (
    <Stack
      direction="row"
      useFlexGap
      spacing={1}
      sx={{ mt: 1, mb: 1, alignItems: "center", justifyContent: "flex-end", "& > *": { whiteSpace: "nowrap" } }}
    >
      {!isNarrow && (
        <Typography
          id={keysId}
          variant="body2"
          color="textSecondary"
          sx={{
            flexGrow: 1,
            "&&": { whiteSpace: "normal" },
            visibility: isSaving ? "visible" : "hidden",
            ...shownInTable,
          }}
        >
          {translate(isSaving ? "list.keys_wait" : canEdit ? "list.keys" : "list.keys_view")}
        </Typography>
      )}
      <Typography variant="body2" component="label" color="textSecondary">
        {translate("record.rows")}{" "}
        <Box
          component="select"
          value={rows}
          onChange={({ target }) => list.showRows(Number((target as HTMLSelectElement).value))}
          sx={{
            font: "inherit",
            color: "text.primary",
            bgcolor: "background.paper",
            border: 1,
            borderColor: "divider",
            borderRadius: 1,
            p: 0.5,
            [onTouch]: { minHeight: 44 },
          }}
        >
          {rowChoices.map((count) => (
            <option key={count} value={count}>
              {count}
            </option>
          ))}
        </Box>
      </Typography>
      <Typography
        variant="body2"
        sx={{ fontVariantNumeric: "tabular-nums", visibility: isStale ? "hidden" : "visible" }}
      >
        {translate("record.shown", { from: toNumber(Math.min(from, to)), to: toNumber(to), count: toNumber(total) })}
      </Typography>
      <IconButton
        size="small"
        aria-label={translate("record.previous_page")}
        disabled={page === 1}
        onClick={() => list.showPage(page - 1)}
      >
        <PreviousIcon />
      </IconButton>
      <IconButton
        size="small"
        aria-label={translate("record.next_page")}
        disabled={to >= total}
        onClick={() => list.showPage(page + 1)}
      >
        <NextIcon />
      </IconButton>
    </Stack>
  );
}

interface FormBesideProps extends RecordTableProps {
  /** The query of the list's address. */
  readonly address: string;
  readonly pending: ReturnType<typeof usePending>;
}

/** The form for the record in the address, at the side of the list. */
function FormBeside({ resource, address, pending }: FormBesideProps) {
  const siteName = useSiteName();
  const { pathname } = useLocation();
  const base = `/${siteName}/${resource.path}`;
  const leave = () => navigate(`${base}${address}`);
  const id = pathname.startsWith(`${base}/`) ? pathname.slice(base.length + 1).split("/")[0] : undefined;
  // The backdrop is invisible, so that the list stays readable.
  const drawer = {
    backdrop: { invisible: true },
    paper: { sx: { width: { xs: "100%", sm: 480 } }, "aria-label": resource.singular },
  };
  return (
    <Drawer anchor="right" open={id !== undefined} onClose={leave} slotProps={drawer}>
      {/* Unsaved edits of the list stay, even if the form can't be loaded. */}
      <FaultBoundary key={id ?? ""}>
        <Suspense fallback={<LoadingLines />}>
          {id === "create" && <NewRecord resource={resource} onLeave={leave} />}
          {id !== undefined && id !== "create" && (
            <EditRecord
              key={id}
              resource={resource}
              id={id}
              first={pending.records.get(Number(id))}
              onForget={pending.forget}
              onLeave={leave}
            />
          )}
        </Suspense>
      </FaultBoundary>
    </Drawer>
  );
}

interface NoRecordsProps extends RecordTableProps {
  readonly list: ListState;
  /** Similar names. */
  readonly suggestions: readonly string[] | undefined;
}

function NoRecords({ resource: { name, path, plural, singular }, list, suggestions = [] }: NoRecordsProps) {
  const siteName = useSiteName();
  const canEdit = useCan("records");
  const { search } = list.query;
  if (search !== "")
    return (
      <EmptyList
        icon={iconOf(name)}
        title={translate("record.none_found", { name: plural, text: showInvisible(search) })}
        explain={translate(suggestions.length > 0 ? "record.did_you_mean" : "record.none_found_explain")}
      >
        {suggestions.map((text) => (
          <Button key={text} variant="outlined" onClick={() => list.setSearch(text)}>
            {showInvisible(text)}
          </Button>
        ))}
        <Button variant={suggestions.length > 0 ? "text" : "outlined"} onClick={() => list.setSearch("")}>
          {translate("record.clear")}
        </Button>
      </EmptyList>
    );
  return (
    <EmptyList
      icon={iconOf(name)}
      title={translate("record.none", { name: plural })}
      explain={translate("record.none_explain")}
    >
      {canEdit && (
        <>
          <Button component={Link} to={`/${siteName}/${path}/create`} variant="contained">
            {translate("record.new", { name: singular })}
          </Button>
          <Button component={Link} to={`/${siteName}/import?resource=${path}`} variant="outlined">
            {translate("general.import")}
          </Button>
        </>
      )}
    </EmptyList>
  );
}
