// The second step of an import: the sheet, the header row and the file's dialect, the column mapping and the match field. Starts the dry run.

import { Alert, Box, Button, FormControlLabel, Radio, Stack, Typography } from "@mui/material";
import { useQuery } from "@tanstack/react-query";
import { useCallback, useId, useMemo, useRef, useState } from "react";
import type {
  CheckBody,
  ColumnInfo,
  DialectBody,
  FilePreviewResponse,
  ImportInfo,
  ImportMapping,
} from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { callApi } from "../api/call-api.ts";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { Choice, Tick } from "../shell/fields.tsx";
import { notify } from "../shell/notices.tsx";
import { ReadFailed } from "../shell/query-result.tsx";
import { useDeclared, useSiteName } from "../shell/site-context.ts";
import { askBeforeLoss, useEdited, useUnsaved } from "../shell/unsaved.ts";
import { describeFault, fullLabelOf } from "../text/fields.ts";
import { showInvisible, translate } from "../text/translate.ts";
import { importPath } from "./imports.ts";
import {
  carriedOver,
  columnOf,
  fieldsOfColumn,
  guessedColumns,
  isFitting,
  keysOf,
  readMappingFile,
  saveMappingFile,
  suggestedMapping,
  suggestedMatch,
  useKeptMapping,
  withField,
} from "./mappings.ts";
import { ActionBar, selectStyle } from "./step-parts.tsx";

interface ColumnsStepProps {
  /** If the operator comes back to this step, with the options of the last check. */
  readonly info: ImportInfo;
  /** Called once the dry run has started, to show its step. */
  readonly onChecked: (started: ImportInfo) => void;
  readonly onAnotherFile: () => void;
}

export function ColumnsStep(props: ColumnsStepProps) {
  const { info, onAnotherFile } = props;
  const siteName = useSiteName();
  const { resources } = useDeclared();
  const [dialect, setDialect] = useState<DialectBody>(dialectOf(info.options ?? {}));
  const { data, error, refetch } = useQuery({
    queryKey: ["import-preview", siteName, info.id, dialect],
    queryFn: () =>
      callApi<FilePreviewResponse>("POST", `${importPath(siteName, info.id)}/preview`, dialect, { isRead: true }),
    retry: false,
  });
  // While another dialect is read, or if that fails, the last one that could be read stays, so that the operator can correct the choice.
  const last = useRef(data);
  if (data) last.current = data;
  const preview = last.current;
  const resource = resources.find(({ path }) => path === info.resource);
  // If not even the detected dialect works, another one may.
  const isCsv = preview ? preview.format === "csv" : error !== null && !/\.xls\w?$/i.test(info.name);
  const change = (changed: DialectBody) => setDialect({ ...dialect, ...changed });
  return (
    <Stack spacing={2}>
      <Typography sx={{ overflowWrap: "anywhere" }}>{showInvisible(info.name)}</Typography>
      {error && <ReadFailed error={error} onRetry={refetch} />}
      {info.error && <FileError error={info.error} />}
      <DialectChoice preview={preview} isCsv={isCsv} dialect={dialect} onChange={change} />
      {preview && resource && (
        <Box hidden={error !== null}>
          <Choices {...props} preview={preview} isStale={!data} resource={resource} />
        </Box>
      )}
      {error && (
        <Button onClick={onAnotherFile} sx={{ alignSelf: "start" }}>
          {translate("import.again")}
        </Button>
      )}
    </Stack>
  );
}

interface ChoicesProps extends ColumnsStepProps {
  readonly preview: FilePreviewResponse;
  /** Whether the preview is of another dialect than the chosen one. */
  readonly isStale: boolean;
  readonly resource: ResourceInfo;
}

function Choices({ info, onChecked, onAnotherFile, preview, isStale, resource }: ChoicesProps) {
  const siteName = useSiteName();
  const { options } = info;
  const hasColumns = preview.columns !== undefined;
  const [latest, keep] = useKeptMapping(resource.path);
  // Remembering another mapping doesn't change what this step started with.
  const [kept] = useState(latest);
  const isKept = !options && isFitting(kept.mapping, preview);
  const { mapping, guessed, change, load } = useMapping(preview, options?.mapping, isKept ? kept.mapping : undefined);
  const [chosenMatch, setMatch] = useState(options?.match);
  const [findMissing, setFindMissing] = useState(options?.findMissing ?? false);
  const match = usableMatch(resource, mapping, hasColumns, chosenMatch ?? (isKept ? kept.match : undefined));
  const canFindMissing = match !== "ID" || !hasColumns || "ID" in mapping.fields;
  useUnsaved(useEdited([mapping, chosenMatch, findMissing]));
  const check = async () => {
    const how = { match, findMissing: findMissing && canFindMissing };
    const chosen: CheckBody = hasColumns ? { ...how, ...dialectOf(preview), mapping } : how;
    const started = await callApi<ImportInfo>("POST", `${importPath(siteName, info.id)}/check`, chosen);
    if (hasColumns) keep({ mapping, match });
    onChecked(started);
  };
  const isUnmapped = hasColumns && Object.keys(mapping.fields).length === 0;
  const columnTable = { preview, resource, mapping, guessed, match, onChange: change };
  return (
    <Stack spacing={2}>
      {isKept && <Alert severity="info">{translate("import.kept")}</Alert>}
      <Typography color="textSecondary">
        {translate(hasColumns ? "import.columns_explain" : "import.no_columns")}
      </Typography>
      {hasColumns && <ColumnTable {...columnTable} />}
      <MatchChoice resource={resource} mapping={hasColumns ? mapping : undefined} value={match} onChange={setMatch} />
      <MissingChoice
        resource={resource}
        isChosen={findMissing && canFindMissing}
        isPossible={canFindMissing}
        onChange={setFindMissing}
      />
      <ActionBar
        action={translate("import.check")}
        onAct={check}
        reason={isStale ? translate("general.loading") : isUnmapped ? translate("import.no_field") : ""}
      >
        <Button onClick={() => askBeforeLoss(onAnotherFile)}>{translate("import.again")}</Button>
        {hasColumns && <MappingFile mapping={mapping} onLoad={load} />}
      </ActionBar>
    </Stack>
  );
}

/**
 * The column mapping, and which columns' fields are suggestions.
 * @param chosen the operator's mapping from before
 * @param kept the mapping to start with instead of the server's suggestion
 */
function useMapping(preview: FilePreviewResponse, chosen: ImportMapping | undefined, kept: ImportMapping | undefined) {
  const [seen, setSeen] = useState(preview);
  const known = chosen ?? kept;
  const [mapping, setMapping] = useState<ImportMapping>(known ?? suggestedMapping(preview));
  const [guessed, setGuessed] = useState(known ? noColumns : guessedColumns(preview));
  if (preview !== seen) {
    setSeen(preview);
    setMapping(carriedOver(mapping, seen, preview, kept ?? suggestedMapping(preview)));
    const isNew = (key: string) => !keysOf(seen).has(key);
    setGuessed(kept ? noColumns : new Set([...guessed, ...[...guessedColumns(preview)].filter(isNew)]));
  }
  const change = useCallback((changed: ImportMapping, column: string) => {
    setMapping(changed);
    setGuessed((before) => new Set([...before].filter((key) => key !== column)));
  }, []);
  const load = (loaded: ImportMapping) => {
    setMapping(loaded);
    setGuessed(noColumns);
  };
  return { mapping, guessed, change, load };
}

const noColumns: ReadonlySet<string> = new Set();

interface MissingChoiceProps {
  readonly resource: ResourceInfo;
  readonly isChosen: boolean;
  readonly isPossible: boolean;
  readonly onChange: (isChosen: boolean) => void;
}

/** Chooses whether to remove records that aren't in the file. The check counts them first. */
function MissingChoice({ resource: { plural }, isChosen, isPossible, onChange }: MissingChoiceProps) {
  const explanation = useId();
  return (
    <div>
      <Tick
        label={translate("import.find_missing", { plural })}
        checked={isChosen}
        disabled={!isPossible}
        onChange={onChange}
        slotProps={{ input: { "aria-describedby": explanation } }}
      />
      <Typography id={explanation} variant="body2" color="textSecondary" sx={{ ml: 4 }}>
        {translate(isPossible ? "import.find_missing_explain" : "import.find_missing_impossible", { plural })}
      </Typography>
    </div>
  );
}

/** Returns the match field: the chosen one, if the file has it. */
function usableMatch(
  resource: ResourceInfo,
  mapping: ImportMapping,
  hasColumns: boolean,
  chosen: string | undefined,
): string {
  if (!hasColumns) return chosen ?? "ID";
  return chosen !== undefined && (chosen === "ID" || chosen in mapping.fields)
    ? chosen
    : suggestedMatch(resource, mapping);
}

function FileError({ error: { detail, faults } }: { readonly error: NonNullable<ImportInfo["error"]> }) {
  return (
    <Alert severity="error">
      {faults.length === 0 && detail}
      {faults.map(({ field, ...fault }) => (
        <Typography key={field + fault.detail} variant="body2">
          {field && <strong>{field}: </strong>}
          {describeFault(fault)}
        </Typography>
      ))}
    </Alert>
  );
}

interface MappingFileProps {
  readonly mapping: ImportMapping;
  readonly onLoad: (mapping: ImportMapping) => void;
}

/** Buttons that save the mapping as a file for the command line, and load such a file. */
function MappingFile({ mapping, onLoad }: MappingFileProps) {
  const input = useRef<HTMLInputElement>(null);
  const load = (file: File | null | undefined) => {
    if (file) readMappingFile(file).then(onLoad, () => notify(translate("import.bad_mapping"), "error"));
  };
  return (
    <>
      <Button onClick={() => saveMappingFile(mapping)}>{translate("import.save_mapping")}</Button>
      <Button onClick={() => input.current?.click()}>{translate("import.load_mapping")}</Button>
      <input
        ref={input}
        type="file"
        hidden
        accept=".json"
        aria-label={translate("import.load_mapping")}
        onChange={({ target }) => {
          load(target.files?.item(0));
          target.value = "";
        }}
      />
    </>
  );
}

interface MatchChoiceProps {
  readonly resource: ResourceInfo;
  /** Undefined for a format without columns (JSON, XML). */
  readonly mapping: ImportMapping | undefined;
  /** The field's path. */
  readonly value: string;
  readonly onChange: (path: string) => void;
}

/** Chooses the match field: a row updates the record with the same value in this field. */
function MatchChoice({ resource, mapping, value, onChange }: MatchChoiceProps) {
  const isThere = (path: string) => !mapping || path in mapping.fields;
  const paths = resource.fields.map(({ path }) => path).filter(isThere);
  const isKnown = value === "ID" || paths.includes(value);
  return (
    <Choice
      isNative
      label={translate("import.match")}
      value={isKnown ? value : "ID"}
      options={[
        ["ID", translate(isThere("ID") ? "import.match_id" : "import.match_none")],
        ...paths.map((path) => [path, fullLabelOf(path)] as const),
      ]}
      onChange={onChange}
      sx={{ maxWidth: 420, m: 0 }}
    />
  );
}

interface DialectChoiceProps {
  readonly preview: FilePreviewResponse | undefined;
  readonly isCsv: boolean;
  readonly dialect: DialectBody;
  readonly onChange: (change: DialectBody) => void;
}

const delimiters = { ",": "comma", ";": "semicolon", "\t": "tab", "|": "bar" } as const;

/** How to read a table: a workbook's sheet, or the delimiter and encoding of CSV, and the header row. */
function DialectChoice({ preview, isCsv, dialect, onChange }: DialectChoiceProps) {
  const { encodings } = useDeclared();
  const { sheets = [], rows = [] } = preview ?? {};
  const { sheet = "", headerRow = 0, delimiter = ",", encoding = "utf-8" } = { ...preview, ...given(dialect) };
  return (
    <>
      {sheets.length > 1 && (
        <Choice
          isNative
          label={translate("import.sheet")}
          value={sheet}
          options={sheets.map((name) => [name, showInvisible(name)])}
          onChange={(chosen) => onChange({ sheet: chosen, headerRow: undefined })}
          sx={{ maxWidth: 420, m: 0 }}
        />
      )}
      {isCsv && (
        <Stack direction={{ xs: "column", sm: "row" }} spacing={1.5}>
          <Choice
            isNative
            label={translate("import.delimiter")}
            value={delimiter}
            options={[
              ...Object.entries(delimiters).map(
                ([character, name]) => [character, translate(`import.${name}`)] as const,
              ),
              // A file can name any other character in a `sep=` line.
              ...(delimiter in delimiters ? [] : [[delimiter, delimiter] as const]),
            ]}
            onChange={(chosen) => onChange({ delimiter: chosen })}
            sx={{ maxWidth: 240, m: 0 }}
          />
          <Choice
            isNative
            label={translate("import.encoding")}
            value={encoding}
            options={encodings.map((name) => [name, name])}
            onChange={(chosen) => onChange({ encoding: chosen })}
            sx={{ maxWidth: 240, m: 0 }}
          />
        </Stack>
      )}
      {rows.length > 0 && (
        <FirstRows
          rows={rows}
          headerRow={headerRow}
          // With another header, the server might detect another sheet or delimiter.
          onChange={(chosen) => onChange({ ...dialectOf(preview ?? {}), headerRow: chosen })}
        />
      )}
    </>
  );
}

function dialectOf({ sheet, headerRow, encoding, delimiter }: DialectBody): DialectBody {
  return { sheet, headerRow, encoding, delimiter };
}

/** Leaves out what the server is to detect. */
function given(dialect: DialectBody): DialectBody {
  return Object.fromEntries(Object.entries(dialect).filter(([, value]) => value !== undefined));
}

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

function ColumnTable({ preview, resource, mapping, guessed, match, onChange }: ColumnTableProps) {
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

type Rows = NonNullable<FilePreviewResponse["rows"]>;

interface FirstRowsProps {
  readonly rows: Rows;
  /** The number of the row with the column names, or 0 if there's none. */
  readonly headerRow: number;
  readonly onChange: (headerRow: number) => void;
}

/** More columns are cut off, because they'd slow down the page. */
const maxColumns = 50;
/** How much of a row its radio button is named by, in characters. */
const maxNameLength = 80;

function FirstRows({ rows, headerRow, onChange }: FirstRowsProps) {
  const widths = rows.map(({ cells }) => cells.findLastIndex((cell) => cell.trim() !== "") + 1);
  const letters = Array.from({ length: Math.min(maxColumns, Math.max(0, ...widths)) }, (_, index) => letterOf(index));
  const choice = { headerRow, onChange };
  const columns: readonly DataColumn<Rows[number]>[] = [
    {
      name: "row",
      label: translate("import.row_number"),
      render: (row) => <HeaderRow {...choice} number={row.number} name={nameOfRow(row)} text={String(row.number)} />,
    },
    ...letters.map((letter, index) => ({
      name: letter,
      label: letter,
      attributes: ({ number }: Rows[number]) => ({
        style: { ...cellStyle, fontWeight: number === headerRow ? 600 : undefined },
      }),
      render: ({ cells }: Rows[number]) => showInvisible(cells[index] ?? ""),
    })),
  ];
  return (
    <Box component="fieldset" sx={{ border: 0, p: 0, m: 0, minWidth: 0 }}>
      <Box component="legend" sx={{ p: 0, mb: 0.75, fontSize: 14 }}>
        {translate("import.header")}
      </Box>
      <Box sx={{ maxHeight: 240, overflowY: "auto" }}>
        <DataList
          isTable
          label={translate("import.header")}
          rows={rows}
          columns={columns}
          rowKey={({ number }) => number}
          nameOf={nameOfRow}
          onOpen={({ number }) => onChange(number)}
          isPale={({ number }) => number < headerRow}
        />
      </Box>
      <HeaderRow {...choice} number={0} name={translate("import.no_header")} text={translate("import.no_header")} />
    </Box>
  );
}

const cellStyle = { maxWidth: 200, overflow: "hidden", textOverflow: "ellipsis", whiteSpace: "nowrap" } as const;

interface HeaderRowProps extends Omit<FirstRowsProps, "rows"> {
  readonly number: number;
  /** For screen readers. */
  readonly name: string;
  readonly text: string;
}

function HeaderRow({ number, name, text, headerRow, onChange }: HeaderRowProps) {
  return (
    <FormControlLabel
      control={
        <Radio
          size="small"
          name="header-row"
          checked={number === headerRow}
          onChange={() => onChange(number)}
          slotProps={{ input: { "aria-label": name } }}
          sx={{ p: 0.5 }}
        />
      }
      label={text}
      slotProps={{ typography: { variant: "body2" } }}
      sx={{ m: 0 }}
    />
  );
}

function nameOfRow({ number, cells }: Rows[number]): string {
  const shown = showInvisible(cells.filter((cell) => cell.trim() !== "").join(", ")).slice(0, maxNameLength);
  return translate("import.header_row", { row: number, cells: shown });
}

/** Returns a column's letters in a spreadsheet: A for 0, Z for 25, AA for 26. */
function letterOf(index: number): string {
  return (index < 26 ? "" : letterOf(Math.floor(index / 26) - 1)) + String.fromCharCode(65 + (index % 26));
}
