// The first step of an import: the file, by a dialog or by dropping it, and its upload.

import UploadIcon from "@mui/icons-material/UploadFile";
import { Alert, Box, Button, LinearProgress, Stack, Typography } from "@mui/material";
import { type DragEvent, useEffect, useRef, useState } from "react";
import { useSiteName } from "../shell/site-context.ts";
import { useUnsaved } from "../shell/unsaved.ts";
import { translate } from "../text/translate.ts";
import { upload } from "./imports.ts";
import { ResourceChoice, useFirstResource } from "./resource-choice.tsx";

interface FileStepProps {
  /** Called with the ID of the import when the whole file has arrived. */
  readonly onSent: (id: string) => void;
}

interface Sending {
  readonly name: string;
  /** The share of the file that has arrived, 0 to 1. */
  readonly share: number;
}

/** The step that asks for a file, and sends it. */
export function FileStep({ onSent }: FileStepProps) {
  const siteName = useSiteName();
  const [resource, setResource] = useState(useFirstResource());
  const [sending, setSending] = useState<Sending>();
  const [fault, setFault] = useState("");
  const markSaved = useUnsaved(sending !== undefined);
  const leaveSignal = useLeaveSignal();
  const send = async (file: File | null | undefined) => {
    if (!file) return;
    setFault("");
    setSending({ name: file.name, share: 0 });
    try {
      const id = await upload(siteName, resource, file, (share) => setSending({ name: file.name, share }), leaveSignal);
      markSaved();
      onSent(id);
    } catch (error) {
      setFault((error as Error).message);
      setSending(undefined);
    }
  };
  return (
    <Stack spacing={2}>
      <Typography color="textSecondary">{translate("import.explain")}</Typography>
      <ResourceChoice value={resource} onChange={setResource} />
      {fault && <Alert severity="error">{fault}</Alert>}
      {sending ? (
        <Box aria-live="polite">
          <Typography gutterBottom sx={{ overflowWrap: "anywhere" }}>
            {translate("import.uploading", { name: sending.name })}
          </Typography>
          <LinearProgress
            variant="determinate"
            value={sending.share * 100}
            aria-label={translate("import.uploading", { name: sending.name })}
          />
        </Box>
      ) : (
        <DropZone onFile={send} />
      )}
    </Stack>
  );
}

/** Returns a signal that aborts when the operator leaves the step. */
function useLeaveSignal(): AbortSignal {
  const [controller, setController] = useState(() => new AbortController());
  useEffect(() => {
    // React may run an effect twice, and its cleanup in between.
    if (controller.signal.aborted) setController(new AbortController());
    return () => controller.abort();
  }, [controller]);
  return controller.signal;
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
        border: "2px dashed",
        borderColor: isOver ? "primary.main" : "divider",
        borderRadius: 2,
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
        accept=".csv,.tsv,.txt,.json,.xml"
        aria-label={translate("import.choose")}
        onChange={({ target }) => onFile(target.files?.item(0))}
      />
    </Stack>
  );
}
