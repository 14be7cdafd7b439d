// Changes to many records: staged edits in one request, and one field set to the same value.

import { findNearestPath, formatHint } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";
import { isJsonObject } from "../../model/field.ts";
import type { Head } from "../../model/head.ts";
import { isId } from "../../model/record.ts";
import { findTextField, type Resource, type TextFieldPath } from "../../model/resource.ts";
import {
  type FieldPlan,
  type FieldSetting,
  maxSetRecords,
  planField,
  storeField,
} from "../../operator/records/set-field.ts";
import { changeRecords, type RecordChanges } from "../../operator/records/several-records.ts";
import type { Action, ActionContext } from "../action-routes.ts";
import { parseBoolean, parseOptionalText, parseText, type ReceivedBody } from "../json-body.ts";
import { LongWork } from "../long-work.ts";
import { withReauthorization } from "../reauthorized-engine.ts";
import { checkSearch, resourceOf } from "./parameters.ts";
import type { ChangesBody, ChangesResponse, SetFieldBody, SetFieldResponse } from "./record-types.ts";

const list = "/operator/sites/{site}/records/{resource}";

export const severalRecordActions: readonly Action[] = [
  ["POST", `${list}/changes`, "records", change],
  ["POST", `${list}/set-field`, "records", setField],
];

/** Maximum changes per request. */
const maxChanges = 5000;

/** At most two of these writes run at once, because each can have 50,000 intents in memory. */
const changesOfMany = new LongWork(2);

async function change(call: ActionContext): Promise<ChangesResponse> {
  const [site, resource] = [await call.site(), resourceOf(call)];
  const changes = parseChanges((await call.input<ChangesBody>()).changes);
  const engine = withReauthorization(call, "change", site, { outlivesSession: false });
  const store = () => changeRecords(engine, site.ID, resource, changes, call.now());
  // A form saves one record, which is quick, so it doesn't have to wait.
  const result = await (changes.length === 1 ? store() : changesOfMany.run(call, store));
  return { ...result, run: call.run };
}

function parseChanges(changes: unknown): readonly RecordChanges[] {
  if (!Array.isArray(changes) || changes.length === 0 || changes.length > maxChanges)
    throw new ProblemError("bad-request", `\`changes\` must be a list of 1 to ${maxChanges} changes`);
  const ids = new Set<number>();
  return changes.map((one: unknown) => {
    if (!isJsonObject(one) || !isId(one.id))
      throw new ProblemError("bad-request", "each change must be an object with the `id` of a record");
    const { id, values } = one;
    if (ids.has(id)) throw new ProblemError("bad-request", `record ${id} appears twice in \`changes\``);
    ids.add(id);
    if (!isJsonObject(values)) throw new ProblemError("bad-request", "a change's `values` must be an object");
    return { id, ifVersion: parseOptionalText(one, "version"), values };
  });
}

/** Sets a field to the same value in many records, or previews that. */
async function setField(call: ActionContext): Promise<SetFieldResponse> {
  const [site, resource] = [await call.site(), resourceOf(call)];
  const input = await call.input<SetFieldBody>();
  const setting = parseSetting(resource, input);
  const isDry = parseBoolean(input, "dryRun") ?? false;
  const digest = parseOptionalText(input, "digest");
  const engine = withReauthorization(call, "change", site, { outlivesSession: false });
  return changesOfMany.run(call, async () => {
    const [head] = (await engine.readHeads([site.ID])) as [Head];
    const plan = await planField(call.siteViews, site.ID, resource, setting, () => !call.request.isAbandoned);
    const { unchanged, missing, names, faults } = plan;
    const planned = { changed: plan.ids.length, unchanged, missing, names, faults, digest: plan.digest, run: call.run };
    if (isDry) return planned;
    if (digest !== undefined && digest !== plan.digest) throw planChangedError(resource, plan);
    const stored = await storeField(engine, site.ID, resource, setting, plan, { head, at: call.now() });
    return { ...planned, ...stored };
  });
}

function parseSetting(resource: Resource, input: ReceivedBody<SetFieldBody>): FieldSetting {
  const [field, value] = [fieldNamed(resource, parseText(input, "field")), parseText(input, "value")];
  const ids = parseIds(input.ids);
  const search = parseOptionalText(input, "search");
  if ((ids === undefined) === (search === undefined))
    throw new ProblemError("bad-request", "send either `ids` or `search`");
  return { field, value, ids, search: checkSearch(search ?? "") };
}

function fieldNamed(resource: Resource, path: string): TextFieldPath {
  const found = findTextField(resource, path);
  if (found) return found;
  const paths = resource.textFields.map((field) => field.path);
  const hint = formatHint(findNearestPath(path, paths), `use ${paths.join(", ")}`);
  throw new ProblemError("bad-request", `there is no text field named \`${path.slice(0, 100)}\`; ${hint}`);
}

function parseIds(ids: unknown): readonly number[] | undefined {
  if (ids === undefined) return undefined;
  if (Array.isArray(ids) && ids.length > 0 && ids.length <= maxSetRecords && ids.every(isId)) return ids;
  throw new ProblemError("bad-request", `\`ids\` must be a list of 1 to ${maxSetRecords} IDs`);
}

/** Returns the error for a plan that no longer matches what the operator confirmed. */
function planChangedError({ singular, plural }: Resource, { ids }: FieldPlan): ProblemError {
  const now = `${ids.length} ${ids.length === 1 ? singular : plural} would change now`;
  return new ProblemError(
    "precondition-failed",
    `nothing was updated, because the records have changed in the meantime: ${now}`,
  );
}
