// The selected records of a list, either some or all that match the search, and the dialogs that delete them or set a field in all of them.

import { Alert, Box, Button, Typography } from "@mui/material";
import { useQueries, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { RecordResponse, RecordsResponse, SetFieldBody, SetFieldResponse } from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import type { HttpError } from "../api/call-api.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { Choice, TextInput } from "../shell/fields.tsx";
import { notify } from "../shell/notices.tsx";
import { useCan, useSiteName } from "../shell/site-context.ts";
import { readOf, useDebounced, useSitePath } from "../shell/site-data.ts";
import { describeFault, faultOf, fullLabelOf, textAt } from "../text/fields.ts";
import { toNumber } from "../text/locale.ts";
import { showInvisible, translate } from "../text/translate.ts";
import type { ListState } from "./list-state.ts";
import { useReadIds, useRecordWrites } from "./record-data.ts";
import { ExportMenu } from "./toolbar.tsx";

interface SelectionProps {
  readonly resource: ResourceInfo;
  readonly list: ListState;
  readonly page: Pick<RecordsResponse, "records" | "total"> | undefined;
  readonly onDeleted: (ids: readonly number[]) => void;
}

type Keys = ReadonlySet<string | number>;

/** The selected records, or the search, if everything that matches it is selected. */
type Ticked =
  | { readonly keys: Keys; readonly allOf?: undefined }
  | { readonly keys?: undefined; readonly allOf: string };

type OpenDialog = { readonly kind: "set" } | { readonly kind: "delete"; readonly ids: readonly number[] };

/** As many as the server accepts, to delete or export them. */
const maxDeleted = 1000;

const noKeys: Keys = new Set();

/** Returns the list's selection, and while there is one, the actions on it. */
export function useSelection({ resource, list, page, onDeleted }: SelectionProps) {
  const [ticked, setTicked] = useState<Ticked>({ keys: noKeys });
  const [open, setOpen] = useState<OpenDialog>();
  const canEdit = useCan("records");
  const { search } = list.query;
  // Another search matches other records.
  const isAll = ticked.allOf === search;
  const keys: Keys = isAll ? new Set(page?.records.map(({ record }) => record.ID)) : (ticked.keys ?? noKeys);
  const found = page?.total ?? 0;
  const count = isAll ? found : keys.size;
  const ticks = { keys, onChange: (changed: Keys) => setTicked({ keys: changed }) };
  const readIds = useReadIds(resource.path);
  if (count === 0) return { ticks };
  const ids = isAll ? undefined : [...keys].map(Number);
  const clear = () => setTicked({ keys: noKeys });
  async function askDelete() {
    try {
      setOpen({ kind: "delete", ids: ids ?? (await readIds(search, maxDeleted)) });
    } catch (error) {
      notify((error as Error).message, "error");
    }
  }
  const isTooMany = count > maxDeleted;
  const what = translate("record.selected", { count: toNumber(count) });
  const actions: ReactNode = (
    <>
      <Typography role="status" sx={{ fontWeight: 600, whiteSpace: "nowrap" }}>
        {what}
      </Typography>
      {count < found && (
        <Button size="small" onClick={() => setTicked({ allOf: search })}>
          {translate("record.select_all", { count: toNumber(found) })}
        </Button>
      )}
      <Button size="small" onClick={clear}>
        {translate("record.select_none")}
      </Button>
      <Box sx={{ flexGrow: 1 }} />
      {(isAll || !isTooMany) && (
        <ExportMenu resource={resource} list={list} choices={[[what, ids ? { ids: ids.join() } : { search }]]} />
      )}
      {canEdit && isTooMany && (
        <Typography variant="body2" color="textSecondary">
          {translate("record.delete_limit", { count: toNumber(maxDeleted) })}
        </Typography>
      )}
      {canEdit && (
        <Button size="small" variant="outlined" onClick={() => setOpen({ kind: "set" })} sx={{ whiteSpace: "nowrap" }}>
          {translate("record.set_field")}
        </Button>
      )}
      {canEdit && (
        <Button size="small" variant="outlined" color="error" disabled={isTooMany} onClick={askDelete}>
          {translate("record.delete")}
        </Button>
      )}
    </>
  );
  const shared = { resource, onClose: () => setOpen(undefined) };
  function finishDelete(deleted: readonly number[]) {
    onDeleted(deleted);
    clear();
  }
  const dialog =
    open?.kind === "delete" ? (
      <DeleteDialog {...shared} ids={open.ids} onDone={() => finishDelete(open.ids)} />
    ) : (
      open && <SetFieldDialog {...shared} target={ids ? { ids } : { search }} count={count} />
    );
  return { ticks, actions, dialog };
}

const maxNamed = 5;

interface DeleteDialogProps {
  readonly resource: ResourceInfo;
  readonly ids: readonly number[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Asks before records are deleted, showing the site, how many there are, and the names of the first few. */
export function DeleteDialog({ resource, ids, onDone, onClose }: DeleteDialogProps) {
  const siteName = useSiteName();
  const writes = useRecordWrites(resource.path);
  const named = ids.slice(0, maxNamed);
  const names = useNames(resource.path, named);
  const name = ids.length === 1 ? resource.singular : resource.plural;
  async function remove() {
    await writes.remove(ids, names?.[0]);
    onDone();
  }
  return (
    <ActionDialog
      title={translate("record.delete_title", { count: toNumber(ids.length), name, site: siteName })}
      action={translate("record.delete")}
      isDangerous
      isDisabled={!names}
      onConfirm={remove}
      onClose={onClose}
    >
      <Box component="ul" sx={{ m: 0, pl: 3, overflowWrap: "anywhere" }}>
        {names?.map((text, index) => (
          <li key={named[index]}>
            {[showInvisible(text), translate("record.id", { id: named[index] ?? 0 })].filter(Boolean).join(" · ")}
          </li>
        ))}
        {ids.length > maxNamed && <li>{translate("general.and_more", { count: toNumber(ids.length - maxNamed) })}</li>}
      </Box>
      <Typography>{translate("record.delete_explain")}</Typography>
    </ActionDialog>
  );
}

/** Reads the names of records. Undefined until all are read. A record that can't be read has an empty name. */
function useNames(resource: string, ids: readonly number[]): readonly string[] | undefined {
  const path = useSitePath(`/records/${resource}`);
  const reads = useQueries({
    queries: ids.map((id) => ({ ...readOf<RecordResponse>(`${path}/${id}`), retry: false })),
  });
  if (reads.some(({ isPending }) => isPending)) return undefined;
  return reads.map(({ data }) => (data ? textAt(data.record, "Name") : ""));
}

interface SetFieldProps {
  readonly resource: ResourceInfo;
  /** The records to change: some by ID, or all that match a search. */
  readonly target: Pick<SetFieldBody, "ids" | "search">;
  /** Number of records in the target. */
  readonly count: number;
  readonly onClose: () => void;
}

/** Milliseconds after the last key press until the server is asked for a preview. */
const delayMs = 250;

/** Asks for a field and its value, and sets it in all of the records, in one run that can be undone. */
function SetFieldDialog({ resource, target, count, onClose }: SetFieldProps) {
  const writes = useRecordWrites(resource.path);
  const [field, setField] = useState("");
  const [value, setValue] = useState("");
  const info = resource.fields.find(({ path }) => path === field);
  const ownFault = info && faultOf(info, value);
  const body: SetFieldBody = { ...target, field, value };
  const isAsked = info !== undefined && ownFault === undefined;
  const { result, error, askAgainAfter } = useDryRun(resource.path, body, isAsked);
  const [refused] = result?.faults ?? [];
  const fault = value === "" ? undefined : (ownFault ?? (refused && describeFault(refused)));
  const changed = result && result.faults.length === 0 ? result.changed : 0;
  const name = count === 1 ? resource.singular : resource.plural;
  async function confirm() {
    // Others may have changed the records, or which of them match the search.
    await writes.setField({ ...body, digest: result?.digest }).catch(askAgainAfter);
  }
  return (
    <ActionDialog
      title={translate("record.set_title", { count: toNumber(count), name })}
      action={
        changed > 0 ? translate("record.set_action", { count: toNumber(changed), name }) : translate("record.set")
      }
      isEdited={field !== ""}
      isDisabled={changed === 0}
      busyText={translate("record.set_busy")}
      onConfirm={confirm}
      onClose={onClose}
    >
      <Choice
        isNative
        autoFocus
        label={translate("record.set_which")}
        any={translate("record.set_choose")}
        value={field}
        options={resource.fields.map(({ path }) => [path, fullLabelOf(path)])}
        onChange={setField}
      />
      <TextInput
        label={translate("record.set_value")}
        value={value}
        error={fault !== undefined}
        helperText={fault ?? translate(info?.required ? "record.required" : "record.set_empty")}
        onChange={setValue}
        input={{ dir: "auto", autoComplete: "off" }}
      />
      {error && isAsked && <Alert severity="error">{(error as HttpError).message}</Alert>}
      {!(error && isAsked) && ownFault === undefined && (
        <Effect result={result} isAsked={isAsked} resource={resource} />
      )}
    </ActionDialog>
  );
}

/** Asks the server for a preview, once nothing has been typed for a moment. */
function useDryRun(resource: string, body: SetFieldBody, isAsked: boolean) {
  const writes = useRecordWrites(resource);
  const text = JSON.stringify(body);
  const asked = useDebounced(text, delayMs);
  const isStale = asked !== text;
  const { data, error, refetch } = useQuery({
    queryKey: ["set-field", resource, asked],
    queryFn: ({ signal }) => writes.trySetField(JSON.parse(asked) as SetFieldBody, signal),
    enabled: isAsked && !isStale,
    gcTime: 0,
    retry: false,
  });
  function askAgainAfter(failure: unknown): never {
    void refetch();
    throw failure;
  }
  return { result: isAsked && !isStale ? data : undefined, error, askAgainAfter };
}

interface EffectProps {
  readonly result: SetFieldResponse | undefined;
  readonly isAsked: boolean;
  readonly resource: ResourceInfo;
}

function Effect({ result, isAsked, resource }: EffectProps) {
  if (!isAsked) return <Typography color="textSecondary">{translate("record.set_first")}</Typography>;
  if (!result) return <Typography color="textSecondary">{translate("record.set_counting")}</Typography>;
  const { changed, unchanged, missing, names, faults } = result;
  if (faults.length > 0) return null;
  const counted = (key: "changes" | "unchanged" | "missing", count: number) =>
    translate(`record.set_${key}`, {
      smart_count: count,
      count: toNumber(count),
      name: count === 1 ? resource.singular : resource.plural,
    });
  const more = changed - names.length;
  return (
    <Box role="status" sx={{ overflowWrap: "anywhere" }}>
      <Typography>{changed === 0 ? translate("record.set_nothing") : counted("changes", changed)}</Typography>
      {changed > 0 && (
        <Box component="ul" sx={{ m: 0, pl: 3 }}>
          {names.map((text, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: names need not be unique
            <li key={index}>{showInvisible(text)}</li>
          ))}
          {more > 0 && <li>{translate("general.and_more", { count: toNumber(more) })}</li>}
        </Box>
      )}
      <Typography color="textSecondary">
        {unchanged > 0 && changed > 0 && counted("unchanged", unchanged)} {missing > 0 && counted("missing", missing)}
      </Typography>
    </Box>
  );
}
