// The second step of an import: the dialect of the file, the mapping of its columns, and the match field. Starts the dry run.

import { Alert, Button, Stack, TextField, Typography } from "@mui/material";
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import type {
  CheckBody,
  DialectBody,
  FilePreviewResponse,
  ImportInfo,
  ImportMapping,
} from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { useNotify } from "../shell/notices.tsx";
import { ReadFailed } from "../shell/query-result.tsx";
import { useDeclared, useSession, useSiteInfo, useSiteName } from "../shell/site-context.ts";
import { askBeforeLoss, useEdited, useUnsaved } from "../shell/unsaved.ts";
import { fullLabelOf } from "../text/fields.ts";
import { translate } from "../text/translate.ts";
import { ColumnTable } from "./column-table.tsx";
import { DialectChoice } from "./dialect-choice.tsx";
import { checkImport, previewFile } from "./imports.ts";
import {
  keepMapping,
  keptMapping,
  readMappingFile,
  saveMappingFile,
  suggestedMapping,
  suggestedMatch,
} from "./mappings.ts";

interface ColumnsStepProps {
  readonly info: ImportInfo;
  /** The previous choices, if the operator returns to this step. */
  readonly options: CheckBody | undefined;
  readonly onOptions: (options: CheckBody) => void;
  /** Called when the dry run has started. */
  readonly onChecked: () => void;
  readonly onAnotherFile: () => void;
}

/** The step that asks for the mapping of columns to fields, and for the match field. */
export function ColumnsStep(props: ColumnsStepProps) {
  const { info, options, onAnotherFile } = props;
  const siteName = useSiteName();
  const { resources } = useDeclared();
  const [dialect, setDialect] = useState<DialectBody>({
    ...(options?.encoding ? { encoding: options.encoding } : {}),
    ...(options?.delimiter ? { delimiter: options.delimiter } : {}),
  });
  const {
    data: preview,
    error,
    refetch,
  } = useQuery({
    queryKey: ["import-preview", siteName, info.id, dialect],
    queryFn: () => previewFile(siteName, info.id, dialect),
    retry: false,
  });
  const resource = resources.find(({ path }) => path === info.resource);
  return (
    <Stack spacing={2}>
      <Typography sx={{ overflowWrap: "anywhere" }}>{info.name}</Typography>
      {error && <ReadFailed error={error} onRetry={refetch} />}
      {info.error && <FileError error={info.error} />}
      {(preview?.format === "csv" || error) && (
        <DialectChoice
          preview={preview}
          dialect={dialect}
          onChange={(change) => setDialect({ ...dialect, ...change })}
        />
      )}
      {preview && resource && (
        <Choices key={JSON.stringify(dialect)} {...props} preview={preview} resource={resource} />
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
  readonly resource: ResourceInfo;
}

function Choices({ info, options, onOptions, onChecked, onAnotherFile, preview, resource }: ChoicesProps) {
  const site = useSiteInfo();
  const session = useSession();
  const owner = { operator: session.id, siteId: site.id, resource: resource.path };
  const isCsv = preview.format === "csv";
  const kept = isCsv && !options ? keptMapping(owner, preview) : undefined;
  const first = options?.mapping ?? kept?.mapping ?? suggestedMapping(preview);
  const [mapping, setMapping] = useState<ImportMapping>(first);
  const [chosenMatch, setMatch] = useState(options?.match ?? kept?.match);
  const match = usableMatch(resource, mapping, isCsv, chosenMatch);
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  useUnsaved(useEdited([mapping, chosenMatch]));
  const check = async () => {
    const { format, encoding, delimiter } = preview;
    const chosen = isCsv ? { format, encoding, delimiter, mapping, match } : { format, match };
    setBusy(true);
    try {
      await checkImport(site.name, info.id, chosen);
      if (isCsv) keepMapping(owner, { mapping, match });
      onOptions(chosen);
      onChecked();
    } catch (error) {
      setFault((error as Error).message);
      setBusy(false);
    }
  };
  return (
    <>
      {kept && <Alert severity="info">{translate("import.kept")}</Alert>}
      <Typography color="textSecondary">{translate(isCsv ? "import.columns_explain" : "import.no_columns")}</Typography>
      {isCsv && <ColumnTable preview={preview} resource={resource} mapping={mapping} onChange={setMapping} />}
      <MatchChoice resource={resource} mapping={isCsv ? mapping : undefined} value={match} onChange={setMatch} />
      {fault && <Alert severity="error">{fault}</Alert>}
      <Stack direction="row" spacing={1} useFlexGap sx={{ flexWrap: "wrap" }}>
        <Button
          variant="contained"
          onClick={check}
          disabled={isBusy || (isCsv && Object.keys(mapping.fields).length === 0)}
        >
          {translate("import.check")}
        </Button>
        <Button onClick={() => askBeforeLoss(onAnotherFile)}>{translate("import.again")}</Button>
        {isCsv && <MappingFile mapping={mapping} onLoad={setMapping} />}
      </Stack>
    </>
  );
}

/** Returns the match field: the chosen field, if the file has it. */
function usableMatch(
  resource: ResourceInfo,
  mapping: ImportMapping,
  isCsv: boolean,
  chosen: string | undefined,
): string {
  if (!isCsv) return chosen ?? "ID";
  return chosen !== undefined && (chosen === "ID" || chosen in mapping.fields)
    ? chosen
    : suggestedMatch(resource, mapping);
}

function FileError({ error: { detail, faults } }: { readonly error: NonNullable<ImportInfo["error"]> }) {
  return (
    <Alert severity="error">
      {faults.length === 0 && detail}
      {faults.map(({ field, detail: fault }) => (
        <Typography key={field + fault} variant="body2">
          {field && <strong>{field}: </strong>}
          {fault}
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
  const notify = useNotify();
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
  /** The path of a field. */
  readonly value: string;
  readonly onChange: (path: string) => void;
}

/** Chooses the match field: a row changes the record with the same value in this field. */
function MatchChoice({ resource, mapping, value, onChange }: MatchChoiceProps) {
  const isThere = (path: string) => !mapping || path in mapping.fields;
  const paths = resource.fields.map(({ path }) => path).filter(isThere);
  const isKnown = value === "ID" || paths.includes(value);
  return (
    <TextField
      select
      size="small"
      label={translate("import.match")}
      value={isKnown ? value : "ID"}
      onChange={({ target }) => onChange(target.value)}
      slotProps={{ select: { native: true } }}
      sx={{ maxWidth: 420, m: 0 }}
    >
      <option value="ID">{translate(isThere("ID") ? "import.match_id" : "import.match_none")}</option>
      {paths.map((path) => (
        <option key={path} value={path}>
          {fullLabelOf(path)}
        </option>
      ))}
    </TextField>
  );
}
