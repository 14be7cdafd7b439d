// The page of the API keys of a site: their list, and its dialogs: the settings of a key, its replacement, and its revocation.

import KeyIcon from "@mui/icons-material/Key";
import { Button, Chip, MenuItem, Link as MuiLink, TextField, Typography } from "@mui/material";
import { useMemo, useState } from "react";
import type { KeyBody, ListedKeyInfo, SiteInfo } from "../../admin/api/types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { ActionMenu } from "../shell/action-menu.tsx";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { NewSecret } from "../shell/new-secret.tsx";
import { Page } from "../shell/page.tsx";
import { EmptyList, QueryResult } from "../shell/query-result.tsx";
import { LookOnly } from "../shell/role-notice.tsx";
import { Link } from "../shell/router.tsx";
import { findLive, useDeclared, useMay, useSiteInfo, useSiteName } from "../shell/site-context.ts";
import { useEdited } from "../shell/unsaved.ts";
import { toNumber } from "../text/locale.ts";
import { toDay, toMoment, When } from "../text/times.tsx";
import { showInvisible, translate } from "../text/translate.ts";
import {
  formatKeyName,
  type KeyTask,
  type RequestCounts,
  requestsOfKeyPath,
  useKeyActions,
  useKeys,
  useRequestCounts,
} from "./keys.ts";

/** The dialog that is open over the list. */
type OpenKey =
  | { readonly kind: "new" }
  | { readonly kind: KeyTask; readonly apiKey: ListedKeyInfo }
  | { readonly kind: "secret"; readonly secret: string };

/** The page with the API keys of the site. */
export function KeysPage() {
  const query = useKeys();
  const [open, setOpen] = useState<OpenKey>();
  const mayChange = useMay("settings");
  const make = mayChange && (
    <Button variant="contained" data-shortcut="new" onClick={() => setOpen({ kind: "new" })}>
      {translate("keys.make")}
    </Button>
  );
  return (
    <Page title={translate("keys.title")} explain={translate("keys.explain")} actions={make}>
      <LookOnly right="settings" />
      <QueryResult query={query}>
        {(keys) => <KeyList keys={keys} onTask={(kind, apiKey) => setOpen({ kind, apiKey })} />}
      </QueryResult>
      {open && <OpenDialog open={open} onOpen={setOpen} />}
    </Page>
  );
}

interface KeyListProps {
  readonly keys: readonly ListedKeyInfo[];
  readonly onTask: (task: KeyTask, apiKey: ListedKeyInfo) => void;
}

const tasks: readonly KeyTask[] = ["edit", "rotate", "revoke"];

function KeyList({ keys, onTask }: KeyListProps) {
  const mayChange = useMay("settings");
  const counts = useRequestCounts();
  const columns = useMemo(() => columnsOf(keys, counts), [keys, counts]);
  const menuOf = (apiKey: ListedKeyInfo) =>
    apiKey.state === "valid" && (
      <ActionMenu
        label={translate("general.actions_for", { name: formatKeyName(apiKey) })}
        actions={tasks.map((task) => ({
          name: task,
          text: translate(`keys.${task}`),
          isDangerous: task === "revoke",
          onChoose: () => onTask(task, apiKey),
        }))}
      />
    );
  return (
    <DataList
      label={translate("keys.title")}
      rows={keys}
      columns={columns}
      rowKey={({ id }) => id}
      nameOf={({ label, prefix }) => label || prefix}
      isPale={({ state }) => state !== "valid"}
      actions={mayChange ? menuOf : undefined}
      empty={<EmptyList icon={KeyIcon} title={translate("keys.none")} explain={translate("keys.none_explain")} />}
    />
  );
}

/** @param counts the requests of the last day; undefined until they are read, or if they cannot be read */
function columnsOf(keys: readonly ListedKeyInfo[], counts: RequestCounts | undefined): DataColumn<ListedKeyInfo>[] {
  const named = (name: "label" | "scope" | "expires" | "last_used" | "requests" | "state") => ({
    name,
    label: translate(`keys.${name}`),
  });
  return [
    { ...named("label"), isPrimary: true, render: (apiKey) => <KeyName apiKey={apiKey} keys={keys} /> },
    { ...named("scope"), render: (apiKey) => <KeyScope apiKey={apiKey} /> },
    {
      ...named("requests"),
      align: "right",
      render: ({ id, prefix }) => <Requests count={counts && (counts.get(id) ?? 0)} prefix={prefix} />,
    },
    {
      ...named("last_used"),
      render: ({ lastUsed }) => (lastUsed ? <When at={lastUsed} /> : translate("keys.not_yet")),
    },
    {
      ...named("expires"),
      render: ({ expires }) => <span className="whole">{expires ? toDay(expires) : translate("keys.never")}</span>,
    },
    { ...named("state"), render: (apiKey) => <KeyState apiKey={apiKey} /> },
  ];
}

interface KeyNameProps {
  readonly apiKey: ListedKeyInfo;
  readonly keys: readonly ListedKeyInfo[];
}

/** The purpose of a key, below it the beginning of the key, and which key it replaces or which key replaces it. */
function KeyName({ apiKey, keys }: KeyNameProps) {
  const { label, prefix, former } = apiKey;
  const successor = keys.find((one) => one.former.includes(prefix));
  const [replaced] = former;
  return (
    <span className="lines">
      {label && <strong>{showInvisible(label)}</strong>}
      <code>{prefix}…</code>
      {replaced && <small>{translate("keys.replaces", { key: replaced })}</small>}
      {successor && <small>{translate("keys.replaced_by", { key: successor.prefix })}</small>}
    </span>
  );
}

/** The number of requests of a key, as a link to the latest of them. @param count undefined if it is not known */
function Requests({ count, prefix }: { readonly count: number | undefined; readonly prefix: string }) {
  const siteName = useSiteName();
  if (!count) return count;
  return (
    <MuiLink
      component={Link}
      to={requestsOfKeyPath(siteName, prefix)}
      aria-label={translate("keys.requests_of", { count: toNumber(count), key: prefix })}
    >
      {toNumber(count)}
    </MuiLink>
  );
}

function KeyScope({ apiKey: { scope, rate } }: Pick<KeyNameProps, "apiKey">) {
  return (
    <span className="lines">
      {translate(`keys.${scope}`)}
      {rate && <small>{translate("keys.limit", { count: rate })}</small>}
    </span>
  );
}

const colors = { valid: "success", expired: "default", revoked: "default" } as const;

function KeyState({ apiKey }: Pick<KeyNameProps, "apiKey">) {
  const isEnding = apiKey.endsSoon;
  const color = isEnding ? "warning" : colors[apiKey.state];
  const label = translate(isEnding ? "keys.ending" : `keys.${apiKey.state}`);
  return <Chip variant="outlined" color={color} label={label} />;
}

interface OpenDialogProps {
  readonly open: OpenKey;
  readonly onOpen: (open: OpenKey | undefined) => void;
}

function OpenDialog({ open, onOpen }: OpenDialogProps) {
  const site = useSiteInfo();
  const { publicUrl, sites } = useDeclared();
  // A key of a sandbox opens it at the hostnames of its live site.
  const liveSite = findLive(sites, site) ?? site;
  const actions = useKeyActions();
  const counts = useRequestCounts();
  const close = () => onOpen(undefined);
  const show = async (issued: Promise<{ readonly key: string }>) => {
    const { key: secret } = await issued;
    // In a timeout, so that the dialog that asked for the secret closes first.
    setTimeout(() => onOpen({ kind: "secret", secret }));
  };
  if (open.kind === "new") return <KeyForm onSubmit={(settings) => show(actions.create(settings))} onClose={close} />;
  if (open.kind === "secret") {
    const secrets = {
      [translate("keys.key")]: open.secret,
      [translate("keys.try_it")]: curlLine(liveSite, publicUrl, open.secret),
    };
    return (
      <NewSecret
        title={translate("keys.made")}
        explain={translate("keys.shown_once")}
        secrets={secrets}
        onClose={close}
      />
    );
  }
  const { apiKey } = open;
  if (open.kind === "edit")
    return <KeyForm apiKey={apiKey} onSubmit={(settings) => actions.change(apiKey.id, settings)} onClose={close} />;
  if (open.kind === "rotate")
    return <RotateKey apiKey={apiKey} onRotate={(hours) => show(actions.rotate(apiKey.id, hours))} onClose={close} />;
  const revoke = () => actions.revoke(apiKey.id);
  return <RevokeKey apiKey={apiKey} requests={counts?.get(apiKey.id)} onRevoke={revoke} onClose={close} />;
}

/** Returns a curl command with the key, which works on the machine of the server. */
function curlLine({ hostnames, isDefault }: SiteInfo, publicUrl: string, key: string): string {
  const host = isDefault || !hostnames[0] ? "" : `-H "Host: ${hostnames[0]}" `;
  return `curl ${host}-H "X-API-AUTH: ${key}" ${publicUrl}/restapi/brands.json`;
}

interface KeyFormProps {
  /** The key to change; undefined for a new one. */
  readonly apiKey?: ListedKeyInfo;
  readonly onSubmit: (settings: KeyBody) => Promise<unknown>;
  readonly onClose: () => void;
}

/** The dialog with the settings of a key. */
function KeyForm({ apiKey, onSubmit, onClose }: KeyFormProps) {
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
function RotateKey({ apiKey, onRotate, onClose }: RotateProps) {
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
function RevokeKey({ apiKey, requests = 0, onRevoke, onClose }: RevokeProps) {
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
