// The page of a resource: the list of its records as a table, or on a phone as a simple list, and the form at its side.

import DeleteIcon from "@mui/icons-material/Delete";
import { Button, Drawer, Link } from "@mui/material";
import { useState } from "react";
import {
  DataTable,
  FilterForm,
  List,
  Pagination,
  type RaRecord,
  SearchInput,
  useCreatePath,
  useListContext,
  useRecordContext,
  useRedirect,
  useResourceContext,
} from "react-admin";
import { matchPath, Link as RouterLink, useLocation } from "react-router-dom";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { EmptyList } from "../shell/empty-list.tsx";
import { iconOf } from "../shell/icons.ts";
import { useDocumentTitle } from "../shell/page-title.tsx";
import { ReadFailed } from "../shell/query-result.tsx";
import { useDeclared, useSiteName } from "../shell/site-context.ts";
import { useIsNarrow } from "../shell/theme.ts";
import { markAllSaved } from "../shell/unsaved.ts";
import { textAt } from "../text/fields.ts";
import { capitalized } from "../text/locale.ts";
import { showInvisible } from "../text/show-invisible.ts";
import { translate } from "../text/translate.ts";
import { useHiddenColumns } from "./columns.ts";
import { DeleteDialog } from "./delete-dialog.tsx";
import { columnLabel, summaryOf } from "./known-fields.tsx";
import { RecordCreate } from "./record-create.tsx";
import { RecordEdit } from "./record-edit.tsx";
import { TableActions } from "./table-actions.tsx";

/**
 * Milliseconds between a key press and the search: none, because a response takes only about 30 ms for 100,000 records. The default of the form is
 * half a second. The types of the form do not declare this property.
 */
const searchDelay = { debounce: 0 };

/** The search field of the list. */
function Search() {
  const { maxSearchLength } = useDeclared();
  const filters = [
    <SearchInput
      key="q"
      source="q"
      alwaysOn
      slotProps={{ htmlInput: { maxLength: maxSearchLength } }}
      sx={{ m: 0, width: { xs: "100%", sm: 320 } }}
    />,
  ];
  return <FilterForm filters={filters} {...searchDelay} />;
}

interface RecordTableProps {
  readonly resource: ResourceInfo;
}

/** The page of a resource: a table of its records, and the form beside it. */
export function RecordTable({ resource }: RecordTableProps) {
  useDocumentTitle(capitalized(resource.plural));
  return (
    <>
      <List
        filters={<Search />}
        actions={<TableActions resource={resource} />}
        sort={{ field: "Name", order: "ASC" }}
        perPage={25}
        empty={false}
        pagination={<Pages />}
        sx={listStyle}
      >
        <ListBody resource={resource} />
      </List>
      <FormBeside resource={resource} />
    </>
  );
}

/** The style of the list. Its bar is as high as the bar for selected records, which covers it. On a phone, the search is below the title. */
const listStyle = {
  mt: 1,
  mb: 4,
  "& .RaList-main > :first-of-type": { bgcolor: "transparent", alignItems: "center" },
  "& form": { minHeight: 48, p: 0, mb: { xs: 1, sm: 0 }, alignItems: "center", width: { xs: "100%", sm: "auto" } },
  // A wide table scrolls instead of the page, and a long name without spaces is broken.
  "& .RaList-main, & .RaList-content": { minWidth: 0 },
  "& .RaDataTable-tableWrapper": { overflowX: "auto" },
  "& td": { maxWidth: 320, overflowWrap: "break-word" },
  "& .MuiListItemText-root": { overflowWrap: "anywhere" },
  "& .RaFilterFormInput-spacer": { display: "none" },
  // Hide the collapsed bar. Otherwise its invisible buttons could get the focus.
  "& .RaBulkActionsToolbar-collapsed": { visibility: "hidden" },
  "& .filter-field": { width: { xs: "100%", sm: "auto" }, m: 0 },
};

function Pages() {
  const { data } = useListContext();
  return data ? <Pagination /> : null;
}

/** Shows the records, or why they could not be read, because an error must not look like an empty list. */
function ListBody({ resource }: RecordTableProps) {
  const isNarrow = useIsNarrow();
  const { data, error, refetch } = useListContext();
  if (error && !data) return <ReadFailed error={error} onRetry={refetch} />;
  return isNarrow ? <PhoneList resource={resource} /> : <Columns resource={resource} />;
}

const nameOf = ({ id, Name }: RaRecord) => showInvisible(Name || `#${id}`);

const phoneColumns: readonly DataColumn<RaRecord>[] = [
  { name: "Name", label: "", isPrimary: true, render: nameOf },
  { name: "summary", label: "", render: (record) => showInvisible(summaryOf(record)) },
];

function PhoneList({ resource }: RecordTableProps) {
  const { data } = useListContext();
  const createPath = useCreatePath();
  if (!data) return null;
  return (
    <DataList
      label={resource.plural}
      rows={data}
      columns={phoneColumns}
      rowKey={({ id }) => id}
      nameOf={nameOf}
      hrefOf={({ id }) => createPath({ resource: resource.path, id, type: "edit" })}
      empty={<NoRecords resource={resource} />}
    />
  );
}

/** The table, with a column for each field. By default only some columns are shown. */
function Columns({ resource }: RecordTableProps) {
  const paths = resource.fields.map(({ path }) => path);
  const [hidden] = useHiddenColumns(resource);
  return (
    <DataTable
      rowClick="edit"
      size="small"
      bulkActionButtons={<DeleteSelected resource={resource} />}
      empty={<NoRecords resource={resource} />}
      hiddenColumns={hidden}
    >
      <DataTable.Col source="id" label="ID" />
      {paths.map((path) => (
        <DataTable.Col key={path} source={path} label={columnLabel(path)}>
          {path === "Name" ? <NameLink /> : <Value path={path} />}
        </DataTable.Col>
      ))}
    </DataTable>
  );
}

function Value({ path }: { readonly path: string }) {
  const record = useRecordContext();
  return record ? showInvisible(textAt(record, path)) : null;
}

/** The button that deletes the selected records. It does not exist while no record is selected, because react-admin only hides the bar. */
function DeleteSelected({ resource }: RecordTableProps) {
  const { selectedIds, onUnselectItems } = useListContext();
  const [isOpen, setOpen] = useState(false);
  if (selectedIds.length === 0) return null;
  return (
    <>
      <Button size="small" color="error" startIcon={<DeleteIcon />} onClick={() => setOpen(true)}>
        {translate("record.delete")}
      </Button>
      {isOpen && (
        <DeleteDialog
          resource={resource}
          ids={selectedIds}
          onDone={() => onUnselectItems()}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

/** The form for the record in the address of the page, at the side of the list. */
function FormBeside({ resource }: RecordTableProps) {
  const { pathname } = useLocation();
  const redirect = useRedirect();
  const { path } = resource;
  const leave = () => redirect("list", path);
  const close = () => {
    markAllSaved();
    leave();
  };
  const form = { resource, onClose: close, onLeave: leave };
  const id = matchPath(`/:site/${path}/:id/*`, pathname)?.params.id;
  // An invisible backdrop keeps the list readable.
  const drawer = {
    backdrop: { invisible: true },
    paper: { sx: { width: { xs: "100%", sm: 480 } }, "aria-label": resource.singular },
  };
  return (
    <Drawer anchor="right" open={id !== undefined} onClose={leave} slotProps={drawer}>
      {id === "create" && <RecordCreate {...form} />}
      {id !== undefined && id !== "create" && <RecordEdit key={id} {...form} id={id} />}
    </Drawer>
  );
}

/** The name of a record in the table, as a link, so that operators without a mouse can open the record. */
function NameLink() {
  const record = useRecordContext();
  const resource = useResourceContext();
  const createPath = useCreatePath();
  if (!record || !resource) return null;
  return (
    <Link
      component={RouterLink}
      to={createPath({ resource, id: record.id, type: "edit" })}
      // Otherwise the row would open the record a second time.
      onClick={(event) => event.stopPropagation()}
      underline="hover"
      color="inherit"
    >
      {showInvisible(record.Name || `#${record.id}`)}
    </Link>
  );
}

/** The placeholder of a list without records, or without records that match the search. */
function NoRecords({ resource: { name, path, plural, singular } }: { readonly resource: ResourceInfo }) {
  const siteName = useSiteName();
  const { maxSearchLength } = useDeclared();
  const { filterValues, setFilters } = useListContext();
  const text: string | undefined = filterValues.q;
  if (text) {
    return (
      <EmptyList
        icon={iconOf(name)}
        title={translate("record.none_found", { name: plural, text: showInvisible(text.slice(0, maxSearchLength)) })}
        explain={translate("record.none_found_explain")}
      >
        <Button variant="outlined" onClick={() => setFilters({})}>
          {translate("record.clear")}
        </Button>
      </EmptyList>
    );
  }
  return (
    <EmptyList
      icon={iconOf(name)}
      title={translate("record.none", { name: plural })}
      explain={translate("record.none_explain")}
    >
      <Button component={RouterLink} to={`/${siteName}/${path}/create`} variant="contained">
        {translate("record.new", { name: singular })}
      </Button>
      <Button component={RouterLink} to={`/${siteName}/import?resource=${path}`} variant="outlined">
        {translate("general.import")}
      </Button>
    </EmptyList>
  );
}
