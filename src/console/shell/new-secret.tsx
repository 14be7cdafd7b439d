// Texts to copy: the dialog for a new key, sign-in link or webhook secret, and the command that sends a request.

import { Alert, Button, Stack, TextField } from "@mui/material";
import { useRef, useState } from "react";
import type { LoggedRequestInfo } from "../../admin/api/types.ts";
import { SharedValue, useSharedValue } from "../api/shared-value.ts";
import { translate } from "../text/translate.ts";
import { DialogFrame } from "./dialog-frame.tsx";
import { findLive, useDeclared, useSiteInfo } from "./site-context.ts";

interface NewSecret {
  readonly title: string;
  /** Tells the operator what to do with the secret. */
  readonly explain: string;
  /** The texts to copy, by field label. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly onDone?: () => void;
}

const shown = new SharedValue<NewSecret | undefined>(undefined);

/** Shows a secret for the first and last time. Uses a timeout, so that the dialog which requested it closes first. */
export function showSecret(secret: NewSecret): void {
  setTimeout(() => shown.set(secret));
}

export function SecretDialog() {
  const secret = useSharedValue(shown);
  if (!secret) return null;
  const { title, explain, secrets, onDone } = secret;
  function close() {
    shown.set(undefined);
    onDone?.();
  }
  const button = (
    <Button onClick={close} variant="contained">
      {translate("general.done")}
    </Button>
  );
  return (
    <DialogFrame title={title} maxWidth="sm" buttons={button}>
      <Stack spacing={2}>
        <Alert severity="info">{explain}</Alert>
        {Object.entries(secrets).map(([label, text]) => (
          <CopyableText key={label} label={label} text={text} />
        ))}
      </Stack>
    </DialogFrame>
  );
}

interface CopyableTextProps {
  readonly label: string;
  readonly text: string;
  /** Shown below the text. */
  readonly help?: string;
}

export function CopyableText({ label, text, help }: CopyableTextProps) {
  const [isCopied, setCopied] = useState<boolean>();
  const input = useRef<HTMLTextAreaElement>(null);
  const copy = async () => setCopied((await toClipboard(text)) || copySelected(input.current));
  return (
    <Stack direction={{ xs: "column", sm: "row" }} spacing={1} sx={{ alignItems: { sm: "center" } }}>
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
 * Copies a field's text without `navigator.clipboard`, which browsers only offer over HTTPS or on `localhost`. Returns false if copying failed; the
 * text stays selected.
 */
function copySelected(input: HTMLTextAreaElement | null): boolean {
  input?.focus();
  input?.select();
  return document.execCommand("copy");
}

function selectAll(event: { readonly target: EventTarget }) {
  (event.target as HTMLTextAreaElement).select();
}

/**
 * Returns a function that builds a curl command for a request to the site, using its first hostname. The command works on the server itself. Without
 * a key, the shell fills in `$KEY`. Bodies are read from a file.
 */
export function useCurl() {
  const site = useSiteInfo();
  const { publicUrl, sites } = useDeclared();
  // Sandbox keys work at the live site's hostnames.
  const { hostnames, isDefault } = findLive(sites, site) ?? site;
  return ({ method, path }: Pick<LoggedRequestInfo, "method" | "path">, key = "$KEY"): string => {
    const words = ["curl -i"];
    if (method === "HEAD") words.push("-I");
    else if (method !== "GET") words.push(`-X ${quote(method)}`);
    if (!isDefault && hostnames[0]) words.push(`-H ${quote(`Host: ${hostnames[0]}`)}`);
    words.push(`-H "X-API-AUTH: ${key}"`);
    if (["POST", "PUT", "PATCH"].includes(method))
      words.push(`-H ${quote("Content-Type: application/json")} -d @body.json`);
    return [...words, quote(publicUrl + path)].join(" ");
  };
}

/** Quotes a word for the shell, if necessary. */
function quote(word: string): string {
  if (/^[\w./:-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", "'\\''")}'`;
}
