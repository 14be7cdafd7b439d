// The first step of an import: choosing the resource, choosing or dropping a file, and the upload.

import { Alert, Box, Button, LinearProgress, Stack, Typography } from "@mui/material";
import { type DragEvent, useEffect, useRef, useState } from "react";
import { Choice } from "../shell/fields.tsx";
import { UploadIcon } from "../shell/icons.tsx";
import { useAddress } from "../shell/router.tsx";
import { useDeclared, useSiteName } from "../shell/site-context.ts";
import { useUnsaved } from "../shell/unsaved.ts";
import { capitalize } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { upload } from "./imports.ts";

interface FileStepProps {
  /** Called with the import's ID once the whole file has been uploaded. */
  readonly onSent: (id: string) => void;
}

interface Upload {
  /** The file's name. */
  readonly name: string;
  /** How much has been uploaded, 0 to 1. */
  readonly share: number;
}

export function FileStep({ onSent }: FileStepProps) {
  const [resource, setResource] = useState(useFirstResource());
  const { sending, fault, send, cancel } = useSending(resource, onSent);
  return (
    <Stack spacing={2}>
      <Typography color="textSecondary">{translate("import.explain")}</Typography>
      <ResourceChoice label={translate("import.resource")} value={resource} onChange={setResource} />
      {fault && <Alert severity="error">{fault}</Alert>}
      {sending ? <Progress sending={sending} onCancel={cancel} /> : <DropZone onFile={send} />}
    </Stack>
  );
}

/** Uploads a file. The upload stops when the operator leaves the step. */
function useSending(resource: string, onSent: FileStepProps["onSent"]) {
  const siteName = useSiteName();
  const [sending, setSending] = useState<Upload>();
  const [fault, setFault] = useState("");
  const markSaved = useUnsaved(sending !== undefined);
  const control = useRef(new AbortController());
  useEffect(() => () => control.current.abort(), []);

  function cancel() {
    control.current.abort(new Error("cancelled"));
    control.current = new AbortController();
    setSending(undefined);
  }

  async function send(file: File | null | undefined) {
    if (!file) return;
    cancel();
    setFault("");
    const { signal } = control.current;
    const show = (share: number) => {
      if (!signal.aborted) setSending({ name: file.name, share });
    };
    show(0);
    try {
      const id = await upload(siteName, resource, file, show, signal);
      markSaved();
      onSent(id);
    } catch (error) {
      if (signal.aborted) return;
      setFault((error as Error).message);
      setSending(undefined);
    }
  }

  return { sending, fault, send, cancel };
}

interface ProgressProps {
  readonly sending: Upload;
  readonly onCancel: () => void;
}

function Progress({ sending: { name, share }, onCancel }: ProgressProps) {
  const text = translate("import.uploading", { name });
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
