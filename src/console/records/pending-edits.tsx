// Saves staged edits, both the table's, which a bar counts, and a form's (record-form.tsx). A dialog shows each record's values before and after the
// edits, what the server rejected, and what someone else has changed in the meantime.

import { Alert, Box, Button, Stack, Typography } from "@mui/material";
import { type KeyboardEvent as KeyPress, useCallback, useEffect, useRef, useState } from "react";
import type { ConflictInfo } from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import type { HttpError } from "../api/call-api.ts";
import { OldAndNewValue } from "../history/description.tsx";
import { DialogFrame } from "../shell/dialog-frame.tsx";
import { notify } from "../shell/notices.tsx";
import { useSiteName } from "../shell/site-context.ts";
import { useAttempt } from "../shell/site-data.ts";
import { askBeforeLoss, isSaveKey, useEditKeys, useUnsaved } from "../shell/unsaved.ts";
import { differences, fullLabelOf, textAt } from "../text/fields.ts";
import { toNumber } from "../text/locale.ts";
import { When } from "../text/times.tsx";
import { showInvisible, translate } from "../text/translate.ts";
import { useRecordWrites } from "./record-data.ts";
import {
  countEdits,
  discardEdits,
  type Edit,
  hasFaults,
  keepMine,
  markProblem,
  maxStagedRecords,
  nothingStaged,
  type StagedEdits,
  type StagedRecord,
  stageEdits,
  undoStep,
} from "./staged-edits.ts";

/** Returns a resource's staged edits, functions that change them, and the bar with its dialogs. */
export function usePending(resource: ResourceInfo) {
  const [staged, setStaged] = useState<StagedEdits>(nothingStaged);
  const writes = useRecordWrites(resource.path);
  const saving = useSave(staged, setStaged, writes.saveStaged);
  const count = countEdits(staged);
  // Edits stay while a record's form is open over the list.
  useUnsaved(count > 0, { within: `/${useSiteName()}/${resource.path}`, count });
  useEditKeys({
    onTakeBack: () => saving.isSaving || setStaged((before) => undoStep(before, resource)),
    onSave: () => count > 0 && saving.save(),
  });
  const lastEdited = useFocusAfter(count === 0);
  const latest = useRef(staged);
  latest.current = staged;
  return {
    records: staged.records,
    isSaving: saving.isSaving,
    stage: useCallback(
      (edits: readonly Edit[]) => {
        lastEdited.current = edits[0];
        const ids = new Set([...latest.current.records.keys(), ...edits.map(({ item }) => item.record.ID)]);
        if (ids.size > maxStagedRecords)
          notify(translate("record.pending_full", { count: toNumber(maxStagedRecords) }), "warning");
        setStaged((before) => stageEdits(before, edits, resource));
      },
      [resource, lastEdited],
    ),
    bar: count > 0 && <PendingBar resource={resource} staged={staged} onChange={setStaged} saving={saving} />,
    /** Drops the edits of records that were deleted, or saved by a form. */
    forget: useCallback((ids: readonly number[]) => setStaged((before) => discardEdits(before, ids)), []),
  };
}

type SetStaged = (change: StagedEdits | ((before: StagedEdits) => StagedEdits)) => void;

/**
 * Returns a function that saves all staged edits, why that failed, and the dialog if one is open.
 * @param form what to do once a form is saved; forms show rejected texts themselves
 */
export function useSave(
  staged: StagedEdits,
  setStaged: SetStaged,
  send: (staged: StagedEdits) => Promise<unknown>,
  form?: { readonly onSaved: () => void },
) {
  const [isOpen, setOpen] = useState(false);
  const { isBusy: isSaving, fault, attempt, clearFault } = useAttempt();
  async function saveOnce() {
    try {
      if (hasFaults(staged)) throw new Error(translate("record.pending_faulty"));
      await send(staged);
      setStaged(nothingStaged);
      setOpen(false);
      form?.onSaved();
    } catch (error) {
      // The dialog shows the reason. Cells and form inputs have their own.
      const { body = {}, message, status } = error as HttpError;
      setStaged((before) => markProblem(before, body));
      // If the server can't be reached, or there is no conflict, there is nothing to decide.
      if (form ? !body.conflicts?.length : status === 0)
        return (body.faults ?? body.errors) ? undefined : notify(message, "error");
      setOpen(true);
      throw new Error(textOf(body, staged) ?? message);
    }
  }
  return { save: () => attempt(saveOnce), isOpen, setOpen, fault, clearFault, isSaving };
}

function textOf({ faults, conflicts }: HttpError["body"], { records }: StagedEdits): string | undefined {
  if (faults && faults.length > 0) return translate("record.pending_faulty");
  if (conflicts && conflicts.length > 0) return translate("record.pending_conflict", { smart_count: records.size });
  return undefined;
}

/** When the bar disappears along with its focused button, moves the focus to the cell that was edited last. */
function useFocusAfter(isNothingStaged: boolean) {
  const lastEdited = useRef<Pick<Edit, "item" | "path">>(undefined);
  useEffect(() => {
    const edited = lastEdited.current;
    if (!isNothingStaged || !edited || document.activeElement !== document.body) return;
    const row = document.querySelector(`main tr[data-key="${edited.item.record.ID}"]`);
    row?.querySelector<HTMLElement>(`td[data-column="${edited.path}"]`)?.focus({ preventScroll: true });
  }, [isNothingStaged]);
  return lastEdited;
}

interface PendingBarProps {
  readonly resource: ResourceInfo;
  readonly staged: StagedEdits;
  readonly onChange: SetStaged;
  readonly saving: ReturnType<typeof useSave>;
}

const barStyle = {
  position: "sticky",
  bottom: 8,
  zIndex: 3,
  mt: 1.5,
  px: 1.5,
  py: 1,
  flexWrap: "wrap",
  alignItems: "center",
  border: 1,
  borderColor: "warning.main",
  borderRadius: 1,
  bgcolor: "background.paper",
  boxShadow: 3,
} as const;

function PendingBar(props: PendingBarProps) {
  const { save, setOpen, clearFault, isSaving } = props.saving;
  const count = countEdits(props.staged);
  function discardAll() {
    props.onChange(nothingStaged);
    clearFault();
  }
  return (
    <>
      <Stack direction="row" useFlexGap spacing={1} sx={barStyle}>
        <Typography role="status" sx={{ fontWeight: 600 }}>
          {translate("record.pending", { smart_count: count, count: toNumber(count) })}
        </Typography>
        <Typography variant="body2" color="textSecondary" sx={{ display: { xs: "none", md: "block" } }}>
          {translate("record.pending_explain")}
        </Typography>
        <Box sx={{ flexGrow: 1 }} />
        <Button size="small" onClick={() => setOpen(true)}>
          {translate("record.pending_show")}
        </Button>
        <Button size="small" onClick={() => askBeforeLoss(discardAll)} disabled={isSaving}>
          {translate("record.pending_discard")}
        </Button>
        <Button size="small" variant="contained" onClick={save} disabled={isSaving}>
          {translate(isSaving ? "record.pending_saving" : "general.save")}
        </Button>
      </Stack>
      <StagedDialog {...props} />
    </>
  );
}

export function StagedDialog(props: PendingBarProps) {
  return props.saving.isOpen ? <OpenStagedDialog {...props} /> : null;
}

const step = 50;

/** Shows the staged edits, record by record. Those that can't be saved as they are come first. */
function OpenStagedDialog({ resource, staged, onChange, saving }: PendingBarProps) {
  const { save, setOpen, fault, isSaving } = saving;
  const [shown, setShown] = useState(step);
  const close = () => setOpen(false);
  function drop(id: number, path?: string) {
    const rest = discardEdits(staged, [id], path);
    onChange(rest);
    if (countEdits(rest) === 0) close();
  }
  const keep = (id: number) => onChange((before) => keepMine(before, id, resource));
  const records = [...staged.records.values()];
  const isBad = ({ faults, conflict }: StagedRecord) => faults.size > 0 || conflict !== undefined;
  const ordered = [...records.filter(isBad), ...records.filter((record) => !isBad(record))];
  const open = records.filter(({ conflict }) => conflict !== undefined).length;
  const more = ordered.length - shown;
  function onKeyDown(event: KeyPress) {
    if (!isSaveKey(event)) return;
    event.preventDefault();
    void save();
  }
  function keepAll() {
    for (const { conflict, base } of records) if (conflict) keep(base.record.ID);
  }
  const buttons = (
    <>
      {open > 1 && <Button onClick={keepAll}>{translate("record.pending_keep_all", { count: toNumber(open) })}</Button>}
      <Button onClick={close}>{translate("general.close")}</Button>
      <Button variant="contained" disabled={isSaving || records.length === 0} onClick={save}>
        {translate(isSaving ? "record.pending_saving" : "general.save")}
      </Button>
    </>
  );
  return (
    <DialogFrame
      title={translate("record.pending_title", { smart_count: records.length, count: toNumber(records.length) })}
      maxWidth="md"
      onClose={close}
      onKeyDown={onKeyDown}
      buttons={buttons}
    >
      <Stack spacing={1.5}>
        {fault && <Alert severity="error">{fault}</Alert>}
        {ordered.slice(0, shown).map((record) => (
          <PendingRecord key={record.base.record.ID} staged={record} onDrop={drop} onKeep={keep} />
        ))}
        {more > 0 && (
          <Button onClick={() => setShown(shown + step)}>
            {translate("record.pending_more", { count: toNumber(more) })}
          </Button>
        )}
      </Stack>
    </DialogFrame>
  );
}

interface PendingRecordProps {
  readonly staged: StagedRecord;
  /** Discards a record's edits, or one of them. */
  readonly onDrop: (id: number, path?: string) => void;
  /** Keeps the edits of a record that someone else has changed. */
  readonly onKeep: (id: number) => void;
}

function PendingRecord({ staged, onDrop, onKeep }: PendingRecordProps) {
  const { base, texts, faults, conflict } = staged;
  const { ID: id } = base.record;
  const name = showInvisible(textAt(base.record, "Name")) || `#${id}`;
  const whole = faults.get("");
  const changed = conflict?.record ? differences(base.record, conflict.record) : [];
  const theirs = new Map(changed.map(({ path, after }) => [path, after]));
  const dropText = translate(conflict ? "record.take_theirs" : "record.pending_drop");
  return (
    <Box component="section" aria-label={name} sx={recordStyle}>
      <Stack direction="row" useFlexGap spacing={1} sx={{ alignItems: "baseline", flexWrap: "wrap" }}>
        <Typography sx={{ fontWeight: 600, overflowWrap: "anywhere" }}>{name}</Typography>
        <Typography variant="body2" color="textSecondary">
          {translate("record.id", { id })}
        </Typography>
        <Box sx={{ flexGrow: 1 }} />
        <Button size="small" onClick={() => onDrop(id)} aria-label={`${dropText}: ${name}`}>
          {dropText}
        </Button>
        {conflict?.record && (
          <Button
            size="small"
            variant="outlined"
            onClick={() => onKeep(id)}
            aria-label={`${translate("record.pending_keep")}: ${name}`}
          >
            {translate("record.pending_keep")}
          </Button>
        )}
      </Stack>
      {conflict && (
        <Alert severity="warning" sx={{ my: 0.5 }}>
          <ChangedBy conflict={conflict} />
        </Alert>
      )}
      {whole && <Alert severity="error">{whole}</Alert>}
      <Box component="dl">
        {[...texts].map(([path, text]) => (
          <Box key={path} className="field">
            <dt>{fullLabelOf(path)}</dt>
            <dd>
              <OldAndNewValue before={textAt(base.record, path)} after={text} />
              {text === "" && <em>{translate("record.empty_value")}</em>}
              {theirs.has(path) && (
                <div>
                  {translate("record.theirs")}:{" "}
                  {showInvisible(theirs.get(path) ?? "") || translate("record.empty_value")}{" "}
                  <Button
                    size="small"
                    onClick={() => onDrop(id, path)}
                    aria-label={`${dropText}: ${fullLabelOf(path)}`}
                  >
                    {dropText}
                  </Button>
                </div>
              )}
              {faults.has(path) && <div className="fault">{faults.get(path)}</div>}
            </dd>
          </Box>
        ))}
        {changed
          .filter(({ path }) => !texts.has(path))
          .map(({ path, before, after }) => (
            <Box key={path} className="field">
              <dt>{fullLabelOf(path)}</dt>
              <dd>
                {translate("record.theirs")}: <OldAndNewValue before={before} after={after} />
              </dd>
            </Box>
          ))}
      </Box>
    </Box>
  );
}

function ChangedBy({ conflict: { record, changed } }: { readonly conflict: ConflictInfo }) {
  const key = record === null ? "record.deleted_by" : "record.changed_by";
  if (!changed) return translate(record === null ? "record.deleted_meanwhile" : "record.changed_meanwhile");
  const name = showInvisible(changed.name ?? changed.actor);
  return (
    <>
      {translate(key, { name })} <When at={changed.at} />.
    </>
  );
}

const recordStyle = {
  border: 1,
  borderColor: "divider",
  borderRadius: 1,
  px: 1.5,
  py: 1,
  "& dl": { m: 0 },
  "& .field": { display: "flex", flexWrap: "wrap", columnGap: 2 },
  "& dt": { color: "text.secondary", width: 160, flexShrink: 0 },
  "& dd": { m: 0, minWidth: 0, overflowWrap: "anywhere" },
  "& .fault": { color: "error.main" },
} as const;
