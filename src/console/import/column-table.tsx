// The choice of a column for each field, with a sample of its values, and warnings about columns that are not imported.

import { Alert, Box, Stack, TextField } from "@mui/material";
import type { ColumnInfo, FilePreviewResponse, ImportMapping } from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { fullLabelOf } from "../text/fields.ts";
import { translate } from "../text/translate.ts";
import { columnOf, withColumn } from "./mappings.ts";

interface ColumnTableProps {
  readonly preview: FilePreviewResponse;
  readonly resource: ResourceInfo;
  readonly mapping: ImportMapping;
  readonly onChange: (mapping: ImportMapping) => void;
}

/** A table with the columns of the file. The operator chooses the field of each column. */
export function ColumnTable({ preview, resource, mapping, onChange }: ColumnTableProps) {
  const { columns = [] } = preview;
  const used = new Set(Object.values(mapping.fields).map(columnOf));
  const repeated = repeatedNames(columns);
  const unused = columns.map(({ name }) => name).filter((name) => !used.has(name) && !repeated.includes(name));
  const fields = [{ path: "ID", required: false }, ...resource.fields];
  return (
    <Stack spacing={1.5}>
      {repeated.length > 0 && (
        <Alert severity="warning" sx={{ overflowWrap: "anywhere" }}>
          {translate("import.repeated", { names: repeated.join(", ") })}
        </Alert>
      )}
      {unused.length > 0 && (
        <Alert severity="warning" sx={{ overflowWrap: "anywhere" }}>
          {translate("import.unused", { smart_count: unused.length, names: unused.join(", ") })}
        </Alert>
      )}
      <Box
        sx={{
          display: "grid",
          gridTemplateColumns: { xs: "minmax(0, 1fr)", md: "repeat(2, minmax(0, 1fr))" },
          gap: 1.5,
          alignItems: "start",
        }}
      >
        {fields.map(({ path, required }) => (
          <ColumnChoice
            key={path}
            path={path}
            isRequired={required}
            columns={columns}
            entry={mapping.fields[path]}
            onChange={(column) => onChange(withColumn(mapping, path, column))}
          />
        ))}
      </Box>
    </Stack>
  );
}

interface ColumnChoiceProps {
  readonly path: string;
  readonly isRequired: boolean;
  readonly columns: readonly ColumnInfo[];
  /** The name of a column, or an object of a mapping file. */
  readonly entry: unknown;
  readonly onChange: (column: string) => void;
}

/** The option for an entry of a mapping file that is not just a column, such as a constant. */
const other = "\0";

function ColumnChoice({ path, isRequired, columns, entry, onChange }: ColumnChoiceProps) {
  const column = columns.find(({ name }) => name === columnOf(entry));
  const sample = column?.samples.find((text) => text !== "");
  const label = fullLabelOf(path);
  const isOther = entry !== undefined && typeof entry !== "string";
  return (
    <TextField
      select
      size="small"
      fullWidth
      label={isRequired ? `${label} *` : label}
      value={isOther ? other : (entry ?? "")}
      onChange={({ target }) => onChange(target.value)}
      slotProps={{ select: { native: true }, inputLabel: { shrink: true } }}
      helperText={sample === undefined ? false : translate("import.sample", { value: sample })}
      sx={{ m: 0, overflowWrap: "anywhere" }}
    >
      <option value="">{translate("import.not_imported")}</option>
      {isOther && <option value={other}>{translate("import.from_mapping")}</option>}
      {uniqueNames(columns).map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </TextField>
  );
}

/** Returns the names that several columns have, each once. */
function repeatedNames(columns: ColumnChoiceProps["columns"]): string[] {
  const names = columns.map(({ name }) => name).filter((name) => name !== "");
  return [...new Set(names.filter((name, index) => names.indexOf(name) < index))];
}

/** Returns the names that only one column has. Only these can be chosen. */
function uniqueNames(columns: ColumnChoiceProps["columns"]): string[] {
  const names = columns.map(({ name }) => name).filter((name) => name !== "");
  return names.filter((name) => names.indexOf(name) === names.lastIndexOf(name));
}
