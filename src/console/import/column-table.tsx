// The file's columns, one per row: its name, sample data, and the field it maps to.

import { Alert, Box, Stack, Typography } from "@mui/material";
import { useMemo } from "react";
import type { ColumnInfo, FilePreviewResponse, ImportMapping } from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { fullLabelOf } from "../text/fields.ts";
import { showInvisible, translate } from "../text/translate.ts";
import { columnOf, fieldsOfColumn, withField } from "./mappings.ts";
import { selectStyle } from "./step-parts.tsx";

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
  /** The fields it maps to. A mapping loaded from a file can have several. */
  readonly fields: readonly string[];
  readonly isGuessed: boolean;
}

const maxSamples = 2;

export function ColumnTable({ preview, resource, mapping, guessed, match, onChange }: ColumnTableProps) {
  const rows = useMemo(() => toRows(preview, mapping, guessed), [preview, mapping, guessed]);
  const columns = useMemo(
    () => toColumns({ preview, resource, mapping, onChange }),
    [preview, resource, mapping, onChange],
  );
  const constants = Object.entries(mapping.fields).filter(([, entry]) => columnOf(entry) === undefined);
  return (
    <Stack spacing={1.5}>
      <MissingFields resource={resource} mapping={mapping} match={match} />
      <DataList
        label={translate("import.columns_of_file")}
        rows={rows}
        columns={columns}
        rowKey={({ column }) => column.letter}
        nameOf={({ column }) => nameOf(column)}
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

function toRows(
  { columns = [] }: FilePreviewResponse,
  mapping: ImportMapping,
  guessed: ReadonlySet<string>,
): ColumnRow[] {
  return columns.map((column) => ({
    column,
    fields: fieldsOfColumn(mapping, column.key),
    isGuessed: guessed.has(column.key),
  }));
}

/** Columns without a name of their own are called by their letters. */
function nameOf({ key, name, letter }: ColumnInfo): string {
  if (key === name) return showInvisible(name);
  return translate(name === "" ? "import.column" : "import.repeated", { letter, name: showInvisible(name) });
}

type FieldChoices = Pick<ColumnTableProps, "preview" | "resource" | "mapping" | "onChange">;

function toColumns(choices: FieldChoices): readonly DataColumn<ColumnRow>[] {
  return [
    {
      name: "column",
      label: translate("import.column_name"),
      isPrimary: true,
      render: ({ column }) => nameOf(column),
    },
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
      render: (row) => <FieldChoice row={row} {...choices} />,
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

interface FieldChoiceProps extends FieldChoices {
  readonly row: ColumnRow;
}

/** Chooses a column's field. If another column has that field, it loses it. */
function FieldChoice({ row: { column, fields, isGuessed }, ...choices }: FieldChoiceProps) {
  const { resource, mapping, onChange } = choices;
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
        aria-label={translate("import.field_of", { column: nameOf(column) })}
        value={field}
        onChange={({ target }) => onChange(withField(mapping, column.key, target.value), column.key)}
        sx={[selectStyle, field === "" && { color: "text.secondary" }]}
      >
        <option value="">{translate("import.not_imported")}</option>
        {[{ path: "ID", required: false }, ...resource.fields].map(({ path, required }) => (
          <option key={path} value={path}>
            {optionOf(path, required, column, choices)}
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

/** Returns an option's text, including the column that has the field now. */
function optionOf(path: string, isRequired: boolean, { key }: ColumnInfo, { preview, mapping }: FieldChoices): string {
  const label = isRequired ? translate("import.required", { field: fullLabelOf(path) }) : fullLabelOf(path);
  const other = columnOf(mapping.fields[path]);
  if (other === undefined || other === key) return label;
  const column = preview.columns?.find((one) => one.key === other);
  return translate("import.taken", { field: label, column: column ? nameOf(column) : other });
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
  const names = ignored.map(({ column }) => nameOf(column)).join(", ");
  return (
    <Typography variant="body2" color="textSecondary" sx={{ overflowWrap: "anywhere" }}>
      {translate("import.unused", { smart_count: ignored.length, names })}
    </Typography>
  );
}
