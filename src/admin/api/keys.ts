// Lists, creates, changes, revokes and rotates the API keys of a site.

import { parseTime } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";
import { allRights, scopes } from "../../model/key-rights.ts";
import { maxTimeMs } from "../../model/limits.ts";
import {
  createKey,
  type IssuedKey,
  type KeySettings,
  type ListedKey,
  listKeys,
  revokeKey,
  rotateKey,
  setKey,
  toKeyInfo,
} from "../../operator/sites/keys.ts";
import { allResources } from "../../resources/all.ts";
import type { Action, ActionContext } from "../action-routes.ts";
import {
  parseChoice,
  parseOptionalText,
  parseOptionalWholeNumber,
  parseTexts,
  parseWholeNumber,
  type ReceivedBody,
} from "../json-body.ts";
import { byId } from "./parameters.ts";
import { listUsedKeys } from "./requests.ts";
import type { KeyBody, KeyInfo, KeysResponse, NewKeyResponse, RotationBody } from "./types.ts";

const list = "/operator/sites/{site}/keys";
const one = `${list}/{id}`;

export const keyActions: readonly Action[] = [
  ["GET", list, "read-settings", listAll],
  ["POST", list, "settings", create],
  ["PATCH", one, "settings", change],
  ["POST", `${one}/revoke`, "settings", revoke],
  ["POST", `${one}/rotate`, "settings", rotate],
];

/** Maximum hours that a rotated key may keep working: a year. */
const maxOverlapHours = 24 * 365;

async function listAll(call: ActionContext): Promise<KeysResponse> {
  const { keys } = await listUsedKeys(call);
  return { keys: keys.map((key) => toKeyInfo(key, call.now())), rights: allRights(allResources) };
}

async function create(call: ActionContext): Promise<NewKeyResponse> {
  const site = await call.site();
  const { rate, expiresAt, ...others } = parseSettings(await call.input<KeyBody>());
  const settings = { ...others, rate: rate ?? undefined, expiresAt: expiresAt ?? undefined };
  return toNewKeyResponse(await createKey(call.engine, site, settings, call.now()), call);
}

async function change(call: ActionContext): Promise<KeyInfo> {
  const { Prefix } = await keyOf(call);
  const changes = parseSettings(await call.input<KeyBody>());
  return toKeyInfo(await setKey(call.engine, Prefix, changes, call.now()), call.now());
}

async function revoke(call: ActionContext): Promise<KeyInfo> {
  const { Prefix } = await keyOf(call);
  return toKeyInfo(await revokeKey(call.engine, Prefix, call.now()), call.now());
}

async function rotate(call: ActionContext): Promise<NewKeyResponse> {
  const { Prefix } = await keyOf(call);
  const overlap = parseWholeNumber(await call.input<RotationBody>(), "overlap", { min: 0, max: maxOverlapHours });
  return toNewKeyResponse(await rotateKey(call.engine, Prefix, overlap * 3_600_000, call.now()), call);
}

async function keyOf(call: ActionContext): Promise<ListedKey> {
  return byId(call, await listKeys(call.engine, await call.site()), "this key no longer exists");
}

type Settings = Pick<KeySettings, "label" | "rights" | "networks"> & {
  readonly rate: number | null | undefined;
  readonly expiresAt: number | null | undefined;
};

/** Parses a key's settings. Undefined means absent; null means the default rate, or no expiry. @throws ProblemError `bad-request` */
function parseSettings(input: ReceivedBody<KeyBody>): Settings {
  const can = parseTexts(input, "can");
  return {
    label: parseOptionalText(input, "label"),
    rights: input.scope === undefined ? can : [parseChoice(input, "scope", scopes), ...(can ?? [])],
    networks: parseTexts(input, "networks"),
    rate: input.rate === null ? null : parseOptionalWholeNumber(input, "rate", { min: 1, max: 999_999 }),
    expiresAt: parseExpiry(input),
  };
}

function parseExpiry({ expires }: ReceivedBody<KeyBody>): Settings["expiresAt"] {
  if (expires === undefined || expires === null) return expires;
  const at = typeof expires === "string" ? parseTime(expires) : expires;
  if (typeof at === "number" && Number.isSafeInteger(at) && Math.abs(at) <= maxTimeMs) return at;
  throw new ProblemError("bad-request", "`expires` must be a time such as 2026-01-31T12:00:00Z, or null");
}

function toNewKeyResponse({ key, record }: IssuedKey, { run, now }: ActionContext): NewKeyResponse {
  return { key, ...toKeyInfo(record, now()), run };
}
