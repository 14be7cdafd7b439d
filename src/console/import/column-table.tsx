// The file's columns, one per row: its name, sample data, and the field it maps to.

import { Alert, Box, Stack, Typography } from "@mui/material";
import { useMemo } from "react";
import type { ColumnInfo, FilePreviewResponse, ImportMapping } from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { fullLabelOf } from "../text/fields.ts";
import { showInvisible, translate } from "../text/translate.ts";
import { columnOf, fieldsOfColumn, withField } from "./mappings.ts";

interface ColumnTableProps {
  readonly preview: FilePreviewResponse;
  readonly resource: ResourceInfo;
  readonly mapping: ImportMapping;
  /** Columns whose field was suggested rather than chosen by the operator. */
  readonly guessed: ReadonlySet<string>;
  /** The field that rows are matched with records by. */
  readonly match: string;
  readonly onChange: (mapping: ImportMapping, column: string) => void;
}

interface ColumnRow {
  readonly column: ColumnInfo;
  /** The position in the file, from 1. */
  readonly number: number;
  /** The fields it maps to. A mapping loaded from a file can have several. */
  readonly fields: readonly string[];
  readonly isGuessed: boolean;
  /** Why it can't be imported. */
  readonly obstacle: string;
}

const maxSamples = 2;

export function ColumnTable({ preview, resource, mapping, guessed, match, onChange }: ColumnTableProps) {
  const rows = useMemo(() => toRows(preview.columns ?? [], mapping, guessed), [preview, mapping, guessed]);
  const columns = useMemo(() => toColumns(resource, mapping, onChange), [resource, mapping, onChange]);
  const constants = Object.entries(mapping.fields).filter(([, entry]) => columnOf(entry) === undefined);
  return (
    <Stack spacing={1.5}>
      <MissingFields resource={resource} mapping={mapping} match={match} />
      <DataList
        label={translate("import.columns_of_file")}
        rows={rows}
        columns={columns}
        rowKey={({ number }) => number}
        nameOf={nameOf}
        isPale={({ fields }) => fields.length === 0}
      />
      {constants.map(([path, entry]) => (
        <Typography key={path} variant="body2" sx={{ overflowWrap: "anywhere" }}>
          {translate("import.constant", { field: fullLabelOf(path), value: constantOf(entry) })}
        </Typography>
      ))}
      <Ignored rows={rows} />
    </Stack>
  );
}

function toRows(columns: readonly ColumnInfo[], mapping: ImportMapping, guessed: ReadonlySet<string>): ColumnRow[] {
  const names = columns.map(({ name }) => name);
  return columns.map((column, index) => {
    const { name } = column;
    const isRepeated = names.indexOf(name) !== names.lastIndexOf(name);
    const obstacle = name === "" ? "import.unnamed" : isRepeated ? "import.repeated" : undefined;
    return {
      column,
      number: index + 1,
      fields: obstacle ? [] : fieldsOfColumn(mapping, name),
      isGuessed: guessed.has(name),
      obstacle: obstacle ? translate(obstacle) : "",
    };
  });
}

function nameOf({ column: { name }, number }: ColumnRow): string {
  return showInvisible(name) || translate("import.column", { number });
}

function toColumns(
  resource: ResourceInfo,
  mapping: ImportMapping,
  onChange: ColumnTableProps["onChange"],
): readonly DataColumn<ColumnRow>[] {
  return [
    { name: "column", label: translate("import.column_name"), isPrimary: true, render: nameOf },
    {
      name: "sample",
      label: translate("import.column_sample"),
      render: ({ column: { samples } }) => {
        const filled = [...new Set(samples.filter((sample) => sample.trim() !== ""))].slice(0, maxSamples);
        return <Box sx={sampleStyle}>{filled.map(showInvisible).join(" · ") || translate("import.column_empty")}</Box>;
      },
    },
    {
      name: "field",
      label: translate("import.column_field"),
      render: (row) =>
        row.obstacle || <FieldChoice row={row} resource={resource} mapping={mapping} onChange={onChange} />,
    },
  ];
}

const sampleStyle = {
  color: "text.secondary",
  overflow: "hidden",
  textOverflow: "ellipsis",
  display: "-webkit-box",
  WebkitLineClamp: 2,
  WebkitBoxOrient: "vertical",
  overflowWrap: "anywhere",
} as const;

interface FieldChoiceProps extends Pick<ColumnTableProps, "resource" | "mapping" | "onChange"> {
  readonly row: ColumnRow;
}

/** Chooses a column's field. If another column has that field, it loses it. */
function FieldChoice({ row, resource, mapping, onChange }: FieldChoiceProps) {
  const { column, fields, isGuessed } = row;
  const [field = "", ...others] = fields;
  const notes = [
    isGuessed && field && translate("import.guessed"),
    typeof mapping.fields[field] === "object" && translate("import.from_mapping"),
    ...others.map((path) => translate("import.also", { field: fullLabelOf(path) })),
  ].filter((note) => typeof note === "string" && note !== "");
  return (
    <Box sx={{ display: "flex", alignItems: "center", gap: 1, flexWrap: "wrap" }}>
      <Box
        component="select"
        aria-label={translate("import.field_of", { column: nameOf(row) })}
        value={field}
        onChange={({ target }) => onChange(withField(mapping, column.name, target.value), column.name)}
        sx={[selectStyle, field === "" && { color: "text.secondary" }]}
      >
        <option value="">{translate("import.not_imported")}</option>
        {[{ path: "ID", required: false }, ...resource.fields].map(({ path, required }) => (
          <option key={path} value={path}>
            {optionOf(path, required, column.name, mapping)}
          </option>
        ))}
      </Box>
      {notes.length > 0 && (
        <Typography component="span" variant="body2" color="textSecondary">
          {notes.join(" · ")}
        </Typography>
      )}
    </Box>
  );
}

const selectStyle = {
  font: "inherit",
  color: "text.primary",
  bgcolor: "background.paper",
  border: 1,
  borderColor: "divider",
  borderRadius: 1,
  height: 32,
  px: 1,
  width: { xs: 190, sm: 220 },
  maxWidth: "100%",
} as const;

/** Returns an option's text, including the column that has the field now. */
function optionOf(path: string, isRequired: boolean, column: string, mapping: ImportMapping): string {
  const label = isRequired ? translate("import.required", { field: fullLabelOf(path) }) : fullLabelOf(path);
  const other = columnOf(mapping.fields[path]);
  return other === undefined || other === column ? label : translate("import.taken", { field: label, column: other });
}

function constantOf(entry: unknown): string {
  return String((entry as { readonly constant?: unknown } | null)?.constant ?? "");
}

function MissingFields({ resource, mapping, match }: Pick<ColumnTableProps, "resource" | "mapping" | "match">) {
  const missing = resource.fields.filter(({ path, required }) => required && !(path in mapping.fields));
  if (missing.length === 0) return null;
  const fields = missing.map(({ path }) => fullLabelOf(path)).join(", ");
  const isMatched = match in mapping.fields;
  return (
    <Alert severity="warning">
      {translate(isMatched ? "import.missing_new" : "import.missing_all", { fields, plural: resource.plural })}
    </Alert>
  );
}

function Ignored({ rows }: { readonly rows: readonly ColumnRow[] }) {
  const ignored = rows.filter(({ fields }) => fields.length === 0);
  if (ignored.length === 0) return null;
  const names = ignored.map(nameOf).join(", ");
  return (
    <Typography variant="body2" color="textSecondary" sx={{ overflowWrap: "anywhere" }}>
      {translate("import.unused", { smart_count: ignored.length, names })}
    </Typography>
  );
}
