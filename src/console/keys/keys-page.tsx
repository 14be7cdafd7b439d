// A site's API keys, and the dialogs that create, edit, rotate and revoke them.

import { Chip, Link as MuiLink, Typography } from "@mui/material";
import { useCallback, useMemo, useState } from "react";
import type { KeyBody, KeyInfo } from "../../admin/api/types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { ActionMenu } from "../shell/action-menu.tsx";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { Choice, TextInput, Ticks } from "../shell/fields.tsx";
import { KeyIcon } from "../shell/icons.tsx";
import { showSecret, useCurl } from "../shell/new-secret.tsx";
import { notify } from "../shell/notices.tsx";
import { Page } from "../shell/page.tsx";
import { EmptyList, QueryResult } from "../shell/query-result.tsx";
import { NewButton, ViewOnlyNotice } from "../shell/role-notice.tsx";
import { Link } from "../shell/router.tsx";
import { useCan, useSiteName } from "../shell/site-context.ts";
import { useEdited } from "../shell/unsaved.ts";
import { toNumber } from "../text/locale.ts";
import { toDay, toDayText, toMoment, When } from "../text/times.tsx";
import { showInvisible, translate } from "../text/translate.ts";
import { useWebhooks } from "../webhooks/webhooks.ts";
import {
  formatKeyName,
  type KeyTask,
  type RequestCounts,
  requestsOfKeyPath,
  useKeyActions,
  useKeys,
  useRequestCounts,
} from "./keys.ts";

type OpenKey = { readonly kind: "new" } | { readonly kind: KeyTask; readonly apiKey: KeyInfo };

export function KeysPage() {
  const query = useKeys();
  const [open, setOpen] = useState<OpenKey>();
  const make = <NewButton text={translate("keys.make")} onClick={() => setOpen({ kind: "new" })} />;
  return (
    <Page title={translate("keys.title")} explain={translate("keys.explain")} actions={make}>
      <ViewOnlyNotice right="settings" />
      <QueryResult query={query}>{({ keys }) => <KeyList keys={keys} onOpen={setOpen} />}</QueryResult>
      {open && <OpenDialog open={open} rights={query.data?.rights ?? []} onClose={() => setOpen(undefined)} />}
    </Page>
  );
}

interface KeyListProps {
  readonly keys: readonly KeyInfo[];
  /** Must be stable. */
  readonly onOpen: (open: OpenKey) => void;
}

const tasks: readonly KeyTask[] = ["edit", "rotate", "revoke"];

function KeyList({ keys, onOpen }: KeyListProps) {
  const canChange = useCan("settings");
  const counts = useRequestCounts();
  const columns = useMemo(() => columnsOf(keys, counts), [keys, counts]);
  const menuOf = useCallback(
    (apiKey: KeyInfo) =>
      apiKey.state === "valid" && (
        <ActionMenu
          label={translate("general.actions_for", { name: formatKeyName(apiKey) })}
          actions={tasks}
          textOf={(task) => translate(`keys.${task}`)}
          dangerous="revoke"
          onChoose={(kind) => onOpen({ kind, apiKey })}
        />
      ),
    [onOpen],
  );
  return (
    <DataList
      label={translate("keys.title")}
      rows={keys}
      columns={columns}
      rowKey={({ id }) => id}
      nameOf={({ label, prefix }) => label || prefix}
      isPale={({ state }) => state !== "valid"}
      actions={canChange ? menuOf : undefined}
      empty={<EmptyList icon={KeyIcon} title={translate("keys.none")} explain={translate("keys.none_explain")} />}
    />
  );
}

/** @param counts requests in the last day; undefined until they're read, or if they can't be */
function columnsOf(keys: readonly KeyInfo[], counts: RequestCounts | undefined): DataColumn<KeyInfo>[] {
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
      render: ({ lastUsed }) => (lastUsed ? <When at={lastUsed} /> : translate("general.never")),
    },
    {
      ...named("expires"),
      render: ({ expires }) => <span className="whole">{expires ? toDay(expires) : translate("general.never")}</span>,
    },
    { ...named("state"), render: (apiKey) => <KeyState apiKey={apiKey} /> },
  ];
}

interface KeyNameProps {
  readonly apiKey: KeyInfo;
  readonly keys: readonly KeyInfo[];
}

/** A key's label, with its prefix below, and which key it replaced or was replaced by. */
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

/** A key's request count, linked to the latest requests. @param count undefined if it isn't known */
function Requests({ count, prefix }: { readonly count: number | undefined; readonly prefix: string }) {
  const siteName = useSiteName();
  if (!count) return count;
  return (
    <MuiLink
      component={Link}
      to={requestsOfKeyPath(siteName, prefix)}
      aria-label={translate("keys.requests_of", { smart_count: count, count: toNumber(count), key: prefix })}
    >
      {toNumber(count)}
    </MuiLink>
  );
}

/** What a key may do, and from where. */
function KeyScope({ apiKey }: Pick<KeyNameProps, "apiKey">) {
  const { can, networks, rate } = apiKey;
  const access = accessOf(apiKey);
  return (
    <span className="lines">
      {access === "chosen" ? <code>{can.join(", ") || translate("keys.nothing")}</code> : translate(`keys.${access}`)}
      {networks.length > 0 && <small>{translate("keys.only_from", { networks: networks.join(", ") })}</small>}
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
  /** All rights there are. */
  readonly rights: readonly string[];
  readonly onClose: () => void;
}

function OpenDialog({ open, rights, onClose }: OpenDialogProps) {
  if (open.kind === "new") return <KeyForm rights={rights} onClose={onClose} />;
  const Shown = { edit: KeyForm, rotate: RotateKey, revoke: RevokeKey }[open.kind];
  return <Shown apiKey={open.apiKey} rights={rights} onClose={onClose} />;
}

/** Returns a function that shows a new key once it has been issued. */
function useShowKey() {
  const curl = useCurl();
  return async (issued: Promise<{ readonly key: string }>) => {
    const { key } = await issued;
    showSecret({
      title: translate("keys.made"),
      explain: translate("keys.shown_once"),
      secrets: {
        [translate("keys.key")]: key,
        [translate("keys.try_it")]: curl({ method: "GET", path: "/restapi/brands.json" }, key),
      },
    });
  };
}

const accesses = ["read", "write", "chosen"] as const;
type Access = (typeof accesses)[number];

function accessOf({ scope, can }: Pick<KeyInfo, "scope" | "can">): Access {
  return scope !== null && can.length === 1 ? scope : "chosen";
}

interface KeyFormProps extends Omit<OpenDialogProps, "open"> {
  /** The key to edit; undefined for a new one. */
  readonly apiKey?: KeyInfo;
}

function KeyForm({ apiKey, rights, onClose }: KeyFormProps) {
  const { create, change } = useKeyActions();
  const show = useShowKey();
  const [label, setLabel] = useState(apiKey?.label ?? "");
  const [access, setAccess] = useState<Access>(apiKey ? accessOf(apiKey) : "read");
  const [chosen, setChosen] = useState(apiKey?.rights ?? []);
  const [networks, setNetworks] = useState(apiKey?.networks.join("\n") ?? "");
  const [rate, setRate] = useState(String(apiKey?.rate ?? ""));
  const [expires, setExpires] = useState(dayIn(apiKey?.expires));
  const settings = {
    label,
    can: access === "chosen" ? chosen : [access],
    networks: networks.split(/[\s,;]+/).filter((network) => network !== ""),
    rate: rate === "" ? null : Number(rate),
    expires: toExpiry(expires, apiKey?.expires ?? null),
  };
  const isEdited = useEdited([label, access, chosen, networks, rate, expires]);
  const [before] = useState(settings);
  const name = formatKeyName(apiKey ?? { label: "", prefix: "" });
  const title = apiKey ? translate("keys.edit_title", { key: name }) : translate("keys.make");
  return (
    <ActionDialog
      title={title}
      action={translate(apiKey ? "general.save" : "general.create")}
      isEdited={isEdited}
      onConfirm={() => (apiKey ? change(apiKey.id, changesOf(before, settings)) : show(create(settings)))}
      onClose={onClose}
    >
      <TextInput
        autoFocus
        required
        label={translate("keys.label")}
        helperText={translate("keys.label_help")}
        value={label}
        onChange={setLabel}
      />
      <Choice
        label={translate("keys.scope")}
        value={access}
        options={accesses.map((one) => [one, translate(`keys.${one}`)])}
        onChange={(value) => setAccess(value as Access)}
      />
      {/* Rights have the same names everywhere. */}
      {access === "chosen" && (
        <Ticks
          label={translate("keys.rights")}
          options={rights.map((right) => [right, right])}
          chosen={chosen}
          onChange={setChosen}
        />
      )}
      <TextInput
        multiline
        minRows={1}
        maxRows={8}
        label={translate("keys.networks")}
        helperText={translate("keys.networks_help")}
        value={networks}
        onChange={setNetworks}
        input={{ autoCapitalize: "none", spellCheck: false }}
      />
      <TextInput
        label={translate("keys.rate")}
        type="number"
        value={rate}
        helperText={translate("keys.rate_help")}
        onChange={setRate}
        input={{ min: 1, max: 999_999 }}
      />
      <TextInput
        label={translate("keys.expires")}
        helperText={translate("keys.expires_help")}
        type="date"
        value={expires}
        onChange={setExpires}
      />
    </ActionDialog>
  );
}

/** Returns the settings that have changed, so that those that someone else changes in the meantime are kept. */
function changesOf(before: KeyBody, settings: KeyBody): KeyBody {
  const old = Object.entries(before).map(([name, value]) => [name, JSON.stringify(value)]);
  const texts = new Map(old as [string, string][]);
  return Object.fromEntries(
    Object.entries(settings).filter(([name, value]) => texts.get(name) !== JSON.stringify(value)),
  );
}

/** Returns the end of a day, or `before` if it's on that day, so that editing a key doesn't change when it expires. */
function toExpiry(day: string, before: string | null): string | null {
  if (day === "") return null;
  return dayIn(before) === day ? before : new Date(`${day}T23:59:59`).toISOString();
}

function dayIn(instant: string | null | undefined): string {
  return instant ? toDayText(new Date(instant)) : "";
}

interface KeyDialogProps extends Pick<OpenDialogProps, "onClose"> {
  readonly apiKey: KeyInfo;
}

const overlaps: readonly (readonly [hours: string, text: string])[] = [
  ["0", translate("keys.at_once")],
  ...[1, 24].map((hours) => [String(hours), translate("keys.hours", { smart_count: hours })] as const),
  ["168", translate("keys.week")],
];

function RotateKey({ apiKey, onClose }: KeyDialogProps) {
  const { rotate } = useKeyActions();
  const show = useShowKey();
  const [overlap, setOverlap] = useState("24");
  const name = formatKeyName(apiKey);
  return (
    <ActionDialog
      title={translate("keys.rotate_title", { key: name })}
      action={translate("keys.rotate")}
      onConfirm={() => show(rotate(apiKey.id, Number(overlap)))}
      onClose={onClose}
    >
      <Typography>{translate("keys.rotate_explain")}</Typography>
      <Choice label={translate("keys.overlap")} value={overlap} options={overlaps} onChange={setOverlap} />
    </ActionDialog>
  );
}

/** Asks before a key is revoked, saying what stops working, and how much and when it was last used. */
function RevokeKey({ apiKey, onClose }: KeyDialogProps) {
  const { revoke } = useKeyActions();
  const requests = useRequestCounts()?.get(apiKey.id) ?? 0;
  const name = formatKeyName(apiKey);
  const { data: webhooks = [] } = useWebhooks();
  const own = webhooks.filter(({ key }) => key !== null && [apiKey.prefix, ...apiKey.former].includes(key));
  // The server stores the last use a moment after it counts the request.
  const unused = requests === 0 && translate("keys.revoke_unused");
  const use = apiKey.lastUsed ? translate("keys.revoke_used", { time: toMoment(apiKey.lastUsed) }) : unused;
  const inLastDay =
    requests > 0 && translate("keys.revoke_requests", { smart_count: requests, count: toNumber(requests) });
  return (
    <ActionDialog
      title={translate("keys.revoke_title", { key: name })}
      action={translate("keys.revoke")}
      isDangerous
      onConfirm={async () => {
        await revoke(apiKey.id);
        notify(translate("keys.revoked_now", { key: name }), "success");
      }}
      onClose={onClose}
    >
      <Typography>{translate("keys.revoke_explain")}</Typography>
      <Typography>{[inLastDay, use].filter(Boolean).join(" ")}</Typography>
      {own.length > 0 && (
        <Typography sx={{ overflowWrap: "anywhere" }}>
          {translate("keys.revoke_webhooks", { smart_count: own.length, urls: own.map(({ url }) => url).join(", ") })}
        </Typography>
      )}
    </ActionDialog>
  );
}
