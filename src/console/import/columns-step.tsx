// The second step of an import: the sheet, the header row and the file's dialect, the column mapping and the match field. Starts the dry run.

import { Alert, Box, Button, Checkbox, FormControlLabel, Stack, Typography } from "@mui/material";
import { useQuery } from "@tanstack/react-query";
import { useCallback, useId, useRef, useState } from "react";
import type {
  CheckBody,
  DialectBody,
  FilePreviewResponse,
  ImportInfo,
  ImportMapping,
} from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { callApi } from "../api/call-api.ts";
import { Choice } from "../shell/fields.tsx";
import { notify } from "../shell/notices.tsx";
import { ReadFailed } from "../shell/query-result.tsx";
import { useDeclared, useSiteName } from "../shell/site-context.ts";
import { askBeforeLoss, useEdited, useUnsaved } from "../shell/unsaved.ts";
import { describeFault, fullLabelOf } from "../text/fields.ts";
import { showInvisible, translate } from "../text/translate.ts";
import { ColumnTable } from "./column-table.tsx";
import { FirstRows } from "./first-rows.tsx";
import { importPath } from "./imports.ts";
import {
  carriedOver,
  guessedColumns,
  isFitting,
  keysOf,
  readMappingFile,
  saveMappingFile,
  suggestedMapping,
  suggestedMatch,
  useKeptMapping,
} from "./mappings.ts";
import { ActionBar } from "./step-parts.tsx";

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
      <FormControlLabel
        control={
          <Checkbox
            checked={isChosen}
            disabled={!isPossible}
            onChange={(_, chosen) => onChange(chosen)}
            slotProps={{ input: { "aria-describedby": explanation } }}
          />
        }
        label={translate("import.find_missing", { plural })}
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
