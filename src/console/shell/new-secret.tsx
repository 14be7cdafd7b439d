// The dialog that shows a new key, sign-in link or secret of a webhook, with buttons that copy it.

import { Alert, Button, Dialog, DialogActions, DialogContent, DialogTitle, Stack, TextField } from "@mui/material";
import { useRef, useState } from "react";
import { translate } from "../text/translate.ts";

interface NewSecretProps {
  readonly title: string;
  /** Tells the operator what to do with the secret. */
  readonly explain: string;
  /** The texts to copy, by the labels of their fields. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly onClose: () => void;
}

/** Shows a secret that cannot be shown again. */
export function NewSecret({ title, explain, secrets, onClose }: NewSecretProps) {
  return (
    <Dialog open fullWidth maxWidth="sm" aria-labelledby="new-secret">
      <DialogTitle id="new-secret">{title}</DialogTitle>
      <DialogContent>
        <Stack spacing={2}>
          <Alert severity="info">{explain}</Alert>
          {Object.entries(secrets).map(([label, text]) => (
            <CopyableText key={label} label={label} text={text} />
          ))}
        </Stack>
      </DialogContent>
      <DialogActions>
        <Button onClick={onClose} variant="contained">
          {translate("general.done")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

interface CopyableTextProps {
  readonly label: string;
  readonly text: string;
  /** Below the text. */
  readonly help?: string;
}

/** A text in a field, with a button that copies it. */
export function CopyableText({ label, text, help }: CopyableTextProps) {
  const [isCopied, setCopied] = useState<boolean>();
  const input = useRef<HTMLTextAreaElement>(null);
  const copy = async () => setCopied((await toClipboard(text)) || copySelected(input.current));
  return (
    <Stack direction="row" spacing={1} sx={{ alignItems: "center" }}>
      <TextField
        label={label}
        value={text}
        multiline
        inputRef={input}
        helperText={isCopied === false ? translate("general.not_copied") : help}
        slotProps={{
          input: { readOnly: true, sx: { fontFamily: "monospace", fontSize: 13 } },
          htmlInput: { onFocus: selectAll },
        }}
      />
      <Button onClick={copy} aria-label={`${translate("general.copy")}: ${label}`}>
        {translate(isCopied ? "general.copied" : "general.copy")}
      </Button>
    </Stack>
  );
}

async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Copies the text of a field without `navigator.clipboard`, which browsers have only with HTTPS or on `localhost`. Returns whether the text was
 * copied; if not, it stays selected.
 */
function copySelected(input: HTMLTextAreaElement | null): boolean {
  input?.focus();
  input?.select();
  return document.execCommand("copy");
}

function selectAll(event: { readonly target: EventTarget }) {
  (event.target as HTMLTextAreaElement).select();
}
