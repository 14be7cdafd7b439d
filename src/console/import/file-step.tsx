// The first step of an import: choosing the resource, choosing or dropping a file, choosing a workbook's sheet, and the upload.

import { Alert, Box, Button, LinearProgress, Stack, Typography } from "@mui/material";
import { type DragEvent, useEffect, useRef, useState } from "react";
import { Choice } from "../shell/fields.tsx";
import { UploadIcon } from "../shell/icons.tsx";
import { useAddress } from "../shell/router.tsx";
import { useDeclared, useSiteName } from "../shell/site-context.ts";
import { useUnsaved } from "../shell/unsaved.ts";
import { capitalize } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { isWorkbook, type OpenWorkbook, openWorkbook, upload } from "./imports.ts";

interface FileStepProps {
  /** Called with the import's ID once the whole file has been uploaded. */
  readonly onSent: (id: string) => void;
}

interface Work {
  readonly text: string;
  /** How much is done, 0 to 1. */
  readonly share: number;
}

/** A file the operator has chosen. Work on it stops when `signal` is aborted. */
interface ChosenFile {
  readonly name: string;
  readonly signal: AbortSignal;
}

/** A workbook with several sheets, from which the operator picks one. */
interface OpenChoice {
  readonly file: ChosenFile;
  readonly workbook: OpenWorkbook;
}

export function FileStep({ onSent }: FileStepProps) {
  const [resource, setResource] = useState(useFirstResource());
  const { work, choice, fault, begin, chooseSheet, cancel } = useSending(resource, onSent);
  return (
    <Stack spacing={2}>
      <Typography color="textSecondary">{translate("import.explain")}</Typography>
      <ResourceChoice label={translate("import.resource")} value={resource} onChange={setResource} />
      {fault && <Alert severity="error">{fault}</Alert>}
      {work ? (
        <Progress work={work} onCancel={cancel} />
      ) : choice ? (
        <SheetChoice choice={choice} onChoose={(sheet) => chooseSheet(choice, sheet)} onCancel={cancel} />
      ) : (
        <DropZone onFile={begin} />
      )}
    </Stack>
  );
}

/** Converts and uploads a file. Everything stops when the operator leaves the step. */
function useSending(resource: string, onSent: FileStepProps["onSent"]) {
  const siteName = useSiteName();
  const [work, setWork] = useState<Work>();
  const [choice, setChoice] = useState<OpenChoice>();
  const [fault, setFault] = useState("");
  const markSaved = useUnsaved(work !== undefined);
  const control = useRef(new AbortController());
  useEffect(() => () => control.current.abort(), []);

  /** Starts showing progress for a file, and returns a function that updates it. Cancelled files aren't shown. */
  function show(text: "import.converting" | "import.uploading", { name, signal }: ChosenFile) {
    const showShare = (share: number) => {
      if (!signal.aborted) setWork({ text: translate(text, { name }), share });
    };
    showShare(0);
    return showShare;
  }

  async function send(file: ChosenFile, content: Blob) {
    const onProgress = show("import.uploading", file);
    const id = await upload(siteName, resource, { name: file.name, content }, onProgress, file.signal);
    markSaved();
    onSent(id);
  }

  async function sendSheet({ file, workbook }: OpenChoice, sheet: number) {
    return send(file, await workbook.toCsv(sheet, show("import.converting", file)));
  }

  async function open(content: File) {
    const file: ChosenFile = { name: content.name, signal: control.current.signal };
    const isWorkbookFile = await isWorkbook(content);
    file.signal.throwIfAborted();
    if (!isWorkbookFile) return send(file, content);
    show("import.converting", file);
    const workbook = await openWorkbook(content, file.signal);
    if (workbook.sheets.length === 1) return sendSheet({ file, workbook }, 0);
    setWork(undefined);
    setChoice({ file, workbook });
  }

  /** Runs a step, and shows why it failed, unless the operator cancelled it. */
  async function attempt(step: () => Promise<void>) {
    const { signal } = control.current;
    setFault("");
    await step().catch((error: Error) => {
      if (signal.aborted) return;
      setFault(error.message);
      setWork(undefined);
    });
  }

  function cancel() {
    control.current.abort(new Error("cancelled"));
    control.current = new AbortController();
    setChoice(undefined);
    setWork(undefined);
  }

  function begin(file: File | null | undefined) {
    if (!file) return;
    cancel();
    void attempt(() => open(file));
  }

  const chooseSheet = (chosen: OpenChoice, sheet: number) => void attempt(() => sendSheet(chosen, sheet));

  return { work, choice, fault, begin, chooseSheet, cancel };
}

function Progress({ work: { text, share }, onCancel }: { readonly work: Work; readonly onCancel: () => void }) {
  return (
    <Box>
      <Typography gutterBottom aria-live="polite" sx={{ overflowWrap: "anywhere" }}>
        {text}
      </Typography>
      <LinearProgress variant="determinate" value={share * 100} aria-label={text} sx={{ mb: 2 }} />
      <Button variant="outlined" onClick={onCancel}>
        {translate("general.cancel")}
      </Button>
    </Box>
  );
}

interface SheetChoiceProps {
  readonly choice: OpenChoice;
  readonly onChoose: (sheet: number) => void;
  readonly onCancel: () => void;
}

function SheetChoice({ choice: { file, workbook }, onChoose, onCancel }: SheetChoiceProps) {
  const [sheet, setSheet] = useState(0);
  return (
    <Stack spacing={2} sx={{ alignItems: "start" }}>
      <Typography sx={{ overflowWrap: "anywhere" }}>
        {translate("import.sheets", { name: file.name, smart_count: workbook.sheets.length })}
      </Typography>
      <Choice
        isNative
        label={translate("import.sheet")}
        value={String(sheet)}
        options={workbook.sheets.map((name, index) => [String(index), name])}
        onChange={(index) => setSheet(Number(index))}
        sx={{ maxWidth: 420, m: 0 }}
      />
      <Stack direction="row" spacing={1}>
        <Button variant="contained" onClick={() => onChoose(sheet)}>
          {translate("import.use_sheet")}
        </Button>
        <Button onClick={onCancel}>{translate("import.again")}</Button>
      </Stack>
    </Stack>
  );
}

function DropZone({ onFile }: { readonly onFile: (file: File | null | undefined) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    onFile(event.dataTransfer.files.item(0));
  };
  return (
    <Stack
      spacing={1}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      sx={{
        alignItems: "center",
        p: 4,
        border: "1px dashed",
        borderColor: isOver ? "primary.main" : "divider",
        borderRadius: 1,
        textAlign: "center",
      }}
    >
      <UploadIcon color={isOver ? "primary" : "disabled"} fontSize="large" />
      <Typography>{translate("import.drop")}</Typography>
      <Typography variant="body2" color="textSecondary">
        {translate("import.formats")}
      </Typography>
      <Button variant="contained" onClick={() => input.current?.click()}>
        {translate("import.choose")}
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        accept=".xlsx,.xlsm,.csv,.tsv,.txt,.json,.xml"
        aria-label={translate("import.choose")}
        onChange={({ target }) => {
          onFile(target.files?.item(0));
          target.value = "";
        }}
      />
    </Stack>
  );
}

/** Returns the path of the resource to offer first: the one in the page's address, or else the first. */
export function useFirstResource(): string {
  const { resources } = useDeclared();
  const [parameters] = useAddress();
  const wanted = parameters.get("resource");
  return (resources.find(({ path }) => path === wanted) ?? resources[0])?.path ?? "";
}

interface ResourceChoiceProps {
  readonly label: string;
  /** The chosen resource's path. */
  readonly value: string;
  readonly onChange: (path: string) => void;
}

export function ResourceChoice({ label, value, onChange }: ResourceChoiceProps) {
  const { resources } = useDeclared();
  return (
    <Choice
      isNative
      label={label}
      value={value}
      options={resources.map(({ path, plural }) => [path, capitalize(plural)])}
      onChange={onChange}
      sx={{ maxWidth: 280, m: 0 }}
    />
  );
}
