// The dialogs of the page of keys: the settings of a key, its replacement, and its revocation.

import { MenuItem, TextField, Typography } from "@mui/material";
import { useState } from "react";
import type { KeyBody, ListedKeyInfo } from "../../admin/api/types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { useEdited } from "../shell/unsaved.ts";
import { toNumber } from "../text/locale.ts";
import { toMoment } from "../text/times.ts";
import { translate } from "../text/translate.ts";
import { formatKeyName } from "./keys.ts";

interface KeyFormProps {
  /** The key to change; undefined for a new one. */
  readonly apiKey?: ListedKeyInfo;
  readonly onSubmit: (settings: KeyBody) => Promise<unknown>;
  readonly onClose: () => void;
}

/** The dialog with the settings of a key. */
export function KeyForm({ apiKey, onSubmit, onClose }: KeyFormProps) {
  const [label, setLabel] = useState(apiKey?.label ?? "");
  const [scope, setScope] = useState<"read" | "write">(apiKey?.scope ?? "write");
  const [rate, setRate] = useState(String(apiKey?.rate ?? ""));
  const [expires, setExpires] = useState(apiKey?.expires ? toInputDay(apiKey.expires) : "");
  const settings = {
    label,
    ...(apiKey ? {} : { scope }),
    rate: rate === "" ? null : Number(rate),
    expires: toExpiry(expires, apiKey?.expires ?? null),
  };
  const isEdited = useEdited([label, scope, rate, expires]);
  const name = formatKeyName(apiKey ?? { label: "", prefix: "" });
  const title = apiKey ? translate("keys.edit_title", { key: name }) : translate("keys.make");
  return (
    <ActionDialog
      title={title}
      action={translate(apiKey ? "general.save" : "general.create")}
      isEdited={isEdited}
      onConfirm={() => onSubmit(settings)}
      onClose={onClose}
    >
      <TextField
        autoFocus
        label={translate("keys.label")}
        helperText={translate("keys.label_help")}
        value={label}
        onChange={({ target }) => setLabel(target.value)}
      />
      {!apiKey && (
        <TextField
          select
          label={translate("keys.scope")}
          value={scope}
          onChange={({ target }) => setScope(target.value as "read" | "write")}
        >
          <MenuItem value="read">{translate("keys.read")}</MenuItem>
          <MenuItem value="write">{translate("keys.write")}</MenuItem>
        </TextField>
      )}
      <TextField
        label={translate("keys.rate")}
        type="number"
        value={rate}
        helperText={translate("keys.rate_help")}
        onChange={({ target }) => setRate(target.value)}
        slotProps={{ htmlInput: { min: 1, max: 999_999 } }}
      />
      <TextField
        label={translate("keys.expires")}
        helperText={translate("keys.expires_help")}
        type="date"
        value={expires}
        onChange={({ target }) => setExpires(target.value)}
        slotProps={{ inputLabel: { shrink: true } }}
      />
    </ActionDialog>
  );
}

/** Formats a day for an input of the type `date`, in the reader's time zone. @param instant in ISO 8601 */
function toInputDay(instant: string): string {
  const at = new Date(instant);
  const parts = [at.getFullYear(), at.getMonth() + 1, at.getDate()];
  return parts.map((part) => String(part).padStart(2, "0")).join("-");
}

/** Returns the end of a day. If `before` is on the same day, returns `before`, so that a key keeps its time of expiry. */
function toExpiry(day: string, before: string | null): string | null {
  if (day === "") return null;
  return before && toInputDay(before) === day ? before : new Date(`${day}T23:59:59`).toISOString();
}

interface RotateProps {
  readonly apiKey: ListedKeyInfo;
  readonly onRotate: (overlap: number) => Promise<unknown>;
  readonly onClose: () => void;
}

const overlaps = [0, 1, 24, 168];

/** The dialog that asks for how long the old key still works. */
export function RotateKey({ apiKey, onRotate, onClose }: RotateProps) {
  const [overlap, setOverlap] = useState(24);
  const name = formatKeyName(apiKey);
  return (
    <ActionDialog
      title={translate("keys.rotate_title", { key: name })}
      action={translate("keys.rotate")}
      onConfirm={() => onRotate(overlap)}
      onClose={onClose}
    >
      <Typography>{translate("keys.rotate_explain")}</Typography>
      <TextField
        select
        label={translate("keys.overlap")}
        value={overlap}
        onChange={({ target }) => setOverlap(Number(target.value))}
      >
        {overlaps.map((hours) => (
          <MenuItem key={hours} value={hours}>
            {hours === 0 ? translate("keys.at_once") : translate("keys.hours", { smart_count: hours })}
          </MenuItem>
        ))}
      </TextField>
    </ActionDialog>
  );
}

interface RevokeProps {
  readonly apiKey: ListedKeyInfo;
  /** The number of its requests in the last day; undefined if it is not known. */
  readonly requests: number | undefined;
  readonly onRevoke: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** The dialog that asks before a key is revoked: it says what stops working, how much the key is used, and when it was last used. */
export function RevokeKey({ apiKey, requests = 0, onRevoke, onClose }: RevokeProps) {
  const name = formatKeyName(apiKey);
  const use = apiKey.lastUsed
    ? translate("keys.revoke_used", { time: toMoment(apiKey.lastUsed) })
    : translate("keys.revoke_unused");
  const inLastDay =
    requests > 0 && translate("keys.revoke_requests", { smart_count: requests, count: toNumber(requests) });
  return (
    <ActionDialog
      title={translate("keys.revoke_title", { key: name })}
      action={translate("keys.revoke")}
      isDangerous
      onConfirm={onRevoke}
      onClose={onClose}
    >
      <Typography>{translate("keys.revoke_explain")}</Typography>
      <Typography>{[inLastDay, use].filter(Boolean).join(" ")}</Typography>
    </ActionDialog>
  );
}
