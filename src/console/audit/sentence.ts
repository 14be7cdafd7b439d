// Says in a sentence what an entry of the audit log is about.

import type { LogEntryInfo } from "../../admin/api/types.ts";
import { nameOfActor } from "../history/description.tsx";
import { formatKeyName } from "../keys/keys.ts";
import { locale, toNumber } from "../text/locale.ts";
import { showInvisible, type TextKey, translate } from "../text/translate.ts";

export function toSentence(entry: LogEntryInfo): string {
  const { site, resource } = entry;
  const text = resource === "events" ? eventSentence(entry) : changeSentence(entry);
  if (!site || resource === "sites") return text;
  return translate("audit.on_site", { text, site: siteNameOf(site) });
}

export function siteNameOf({ id, name }: NonNullable<LogEntryInfo["site"]>): string {
  return name ?? translate("audit.removed_site", { id });
}

function changeSentence(entry: LogEntryInfo): string {
  const values = valuesOf(entry);
  const name =
    entry.resource === "keys" ? formatKeyName({ label: values("Label"), prefix: values("Prefix") }) : entry.name;
  return translate(keyOfChange(entry), {
    who: nameOfActor(entry),
    name: showInvisible(name),
    rights: rightsIn(values("Scope")),
    role: translate(`roles.${storedRoles.get(values("Role")) ?? "unknown"}`),
  });
}

const storedRoles = new Map([
  ["", "admin"],
  ["records", "editor"],
  ["read", "viewer"],
] as const) as ReadonlyMap<string, "admin" | "editor" | "viewer">;

const records = ["keys", "webhooks", "operators", "sites"] as const;

function keyOfChange({ resource, operation, before, after }: LogEntryInfo): TextKey {
  const path = records.find((one) => one === resource);
  const isNew = (name: string) => operation === "update" && Boolean(after?.[name]) && !before?.[name];
  const isGone = (name: string) => operation === "update" && Boolean(before?.[name]) && !after?.[name];
  if (path === "keys" && operation === "create" && after?.Former) return "audit.keys_rotate";
  if (path === "keys" && isNew("Revoked")) return "audit.keys_revoke";
  if (path === "webhooks" && isNew("Paused")) return "audit.webhooks_pause";
  if (path === "webhooks" && isGone("Paused")) return "audit.webhooks_resume";
  if (path === "sites" && isNew("Suspended")) return "audit.sites_suspend";
  if (path === "sites" && isGone("Suspended")) return "audit.sites_resume";
  return path ? `audit.${path}_${operation}` : "audit.unknown";
}

function eventSentence(entry: LogEntryInfo): string {
  const values = valuesOf(entry);
  const [kind, detail] = [values("Kind"), values("Detail")];
  const who = nameOfActor(entry);
  const isOther = kind === "sign-out" && entry.actor !== `console:${values("Name")}`;
  const number = (name: string) => toNumber(Number(values(name)));
  const rows = {
    created: number("Created"),
    updated: number("Updated"),
    removed: number("Removed"),
    rejected: number("Rejected"),
  };
  const text = translate(keyOfEvent(kind, detail, isOther), {
    who,
    name: showInvisible(values("Name")) || translate("audit.a_file"),
    what: kind === "refused-action" ? attemptOf(detail) : values("Resource") || showInvisible(values("Name")),
    rows: translate("audit.rows", rows),
    count: number("Count"),
    smart_count: values("Count") === "" ? 1 : 2,
  });
  const [address, addresses] = [showInvisible(values("Address")), values("Addresses")];
  if (!address) return text;
  return translate(addresses ? "audit.from_several" : "audit.from", { text, address, addresses });
}

const rights = ["read", "read-settings", "records", "settings"] as const;

function attemptOf(needs: string): string {
  const right = rights.find((one) => one === needs);
  return translate(right ? `audit.tried_${right}` : "audit.tried_all_sites");
}

const ways = ["link", "single-sign-on", "break-glass"] as const;
const endings = ["stopped", "failed"] as const;
const kinds = [
  "sign-out",
  "link",
  "refused-sign-in",
  "refused-action",
  "import",
  "import-site",
  "export",
  "export-site",
  "backup",
  "restore",
  "copy",
] as const;

/** @param isOther whether someone else signed the operator out */
function keyOfEvent(kind: string, detail: string, isOther: boolean): TextKey {
  if (kind === "sign-in") return `audit.sign-in_${ways.find((one) => one === detail) ?? "link"}`;
  if (kind === "link" && detail === "break-glass") return "audit.link_break-glass";
  if (isOther) return "audit.sign-out_other";
  if (detail === "single-sign-on: no_access") return "audit.refused-no-access";
  if (detail === "single-sign-on: rejected") return "audit.refused-sso";
  if (kind === "sign-out" && detail === "everywhere") return "audit.sign-out_everywhere";
  const ending = endings.find((one) => one === detail);
  if (kind === "import" && ending) return `audit.import_${ending}`;
  const known = kinds.find((one) => one === kind);
  return known ? `audit.${known}` : "audit.unknown";
}

/** Returns a function that returns a value by its field's name, or an empty string. */
function valuesOf({ before, after }: LogEntryInfo): (name: string) => string {
  return (name) => String((after ?? before)?.[name] ?? "");
}

const list = new Intl.ListFormat(locale);

/** `read brands and read and write locations` for `brands:read locations:write`. */
function rightsIn(scope: string): string {
  const rights = scope.split(" ").map((word) => {
    const [what = "", right = what] = word.split(":");
    if (right !== "read" && right !== "write") return translate("audit.right_none");
    return translate(what === right ? `audit.right_all_${right}` : `audit.right_${right}`, { what });
  });
  return list.format(rights);
}
