// Saves staged edits, both the table's, which a bar counts, and a form's (record-form.tsx). A dialog shows each record's values before and after the
// edits, what the server rejected, and what someone else has changed in the meantime, of which the operator chooses each value.

import {
  Alert,
  Box,
  Button,
  FormControl,
  FormControlLabel,
  FormLabel,
  Link,
  Radio,
  RadioGroup,
  Stack,
  Typography,
} from "@mui/material";
import { type KeyboardEvent as KeyPress, useCallback, useEffect, useRef, useState } from "react";
import type { ConflictInfo } from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import type { HttpError } from "../api/call-api.ts";
import { OldAndNewValue } from "../history/description.tsx";
import { DialogFrame } from "../shell/dialog-frame.tsx";
import { notify } from "../shell/notices.tsx";
import { Link as RouterLink } from "../shell/router.tsx";
import { useSession, useSiteName } from "../shell/site-context.ts";
import { useAttempt } from "../shell/site-data.ts";
import { askBeforeLoss, isSaveKey, useEditKeys, useUnsaved } from "../shell/unsaved.ts";
import { differences, fullLabelOf, textAt } from "../text/fields.ts";
import { toNumber } from "../text/locale.ts";
import { When } from "../text/times.tsx";
import { showInvisible, translate } from "../text/translate.ts";
import { useIsOutdated, useRecordWrites } from "./record-data.ts";
import {
  type Choice,
  type ConflictingField,
  choose,
  conflictsIn,
  countEdits,
  countFaults,
  countUndecided,
  discardEdits,
  type Edit,
  fullText,
  isTooMuch,
  markProblem,
  nothingStaged,
  type Place,
  resolveConflicts,
  type StagedEdits,
  type StagedRecord,
  stageEdits,
  undoStep,
} from "./staged-edits.ts";

/** Returns a resource's staged edits, functions that change them, and the bar with its dialogs. */
export function usePending(resource: ResourceInfo) {
  const [staged, setStaged] = useState<StagedEdits>(nothingStaged);
  const writes = useRecordWrites(resource.path);
  const saving = useSave(resource, staged, setStaged, writes.saveStaged);
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
    /** Whether nothing can be edited at the moment. */
    isSaving: useIsOutdated(resource.path) || saving.isSaving,
    /** Stages edits as one step, and returns whether there was room for them. */
    stage: useCallback(
      (edits: readonly Edit[]) => {
        const changed = stageEdits(latest.current, edits, resource);
        if (isTooMuch(changed)) {
          notify(fullText(), "warning");
          return false;
        }
        lastEdited.current = edits[0];
        latest.current = changed;
        setStaged(changed);
        return true;
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
  resource: ResourceInfo,
  staged: StagedEdits,
  setStaged: SetStaged,
  send: (staged: StagedEdits) => Promise<unknown>,
  form?: { readonly onSaved: () => void },
) {
  const [isOpen, setOpen] = useState(false);
  const { isBusy: isSaving, fault, attempt, clearFault } = useAttempt();
  async function saveOnce() {
    if (countUndecided(staged) > 0) return setOpen(true);
    try {
      const resolved = resolveConflicts(staged, resource);
      if (countFaults(resolved) > 0) throw new Error(translate("record.pending_faulty"));
      setStaged(resolved);
      // Perhaps only others' values were chosen.
      const isUnchanged = staged.records.size > 0 && resolved.records.size === 0;
      if (!isUnchanged) await send(resolved);
      setStaged(nothingStaged);
      setOpen(false);
      if (!isUnchanged) form?.onSaved();
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

/** At the bottom of the window, below the notices (shell/notices.tsx). */
const barStyle = {
  position: "sticky",
  bottom: 8,
  zIndex: 3,
  mt: "auto",
  mb: 1,
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
  const { save, isOpen, setOpen, clearFault, isSaving } = props.saving;
  const count = countEdits(props.staged);
  const faulty = countFaults(props.staged);
  function discardAll() {
    props.onChange(nothingStaged);
    clearFault();
  }
  return (
    <>
      <Stack data-bar direction="row" useFlexGap spacing={1} sx={barStyle}>
        <Typography role="status" sx={{ fontWeight: 600 }}>
          {translate("record.pending", { smart_count: count, count: toNumber(count) })}
        </Typography>
        {faulty > 0 && (
          <Typography role="status" color="error">
            {translate("record.pending_invalid", { count: toNumber(faulty) })}
          </Typography>
        )}
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
      {isOpen && <StagedDialog {...props} />}
    </>
  );
}

const step = 50;

/** Shows the staged edits, record by record. Those that can't be saved as they are come first. */
export function StagedDialog({ resource, staged, onChange, saving }: PendingBarProps) {
  const { save, setOpen, fault, isSaving } = saving;
  const [shown, setShown] = useState(step);
  const close = () => setOpen(false);
  function drop(id: number) {
    const rest = discardEdits(staged, [id]);
    onChange(rest);
    if (countEdits(rest) === 0) close();
  }
  const decide = (choice: Choice, at?: Place) => onChange((before) => choose(before, choice, at));
  const records = [...staged.records.values()];
  const isBad = ({ faults, conflict }: StagedRecord) => faults.size > 0 || conflict !== undefined;
  const ordered = [...records.filter(isBad), ...records.filter((record) => !isBad(record))];
  const undecided = countUndecided(staged);
  const isBlocked = undecided > 0 || countFaults(staged) > 0;
  const more = ordered.length - shown;
  function onKeyDown(event: KeyPress) {
    if (!isSaveKey(event)) return;
    event.preventDefault();
    if (!isBlocked) void save();
  }
  const buttons = (
    <>
      {undecided > 0 && (
        <Typography role="status" variant="body2" color="textSecondary" sx={{ mr: "auto", ml: 1 }}>
          {translate("record.undecided", { smart_count: undecided, count: toNumber(undecided) })}
        </Typography>
      )}
      <Button onClick={close}>{translate("general.close")}</Button>
      <Button variant="contained" disabled={isSaving || records.length === 0 || isBlocked} onClick={save}>
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
        {records.flatMap(conflictsIn).length > 1 && (
          <Stack direction="row" useFlexGap spacing={1} sx={{ flexWrap: "wrap" }}>
            {sides.map((side) => (
              <Button key={side} size="small" variant="outlined" onClick={() => decide(side)}>
                {translate(`record.all_${side}`)}
              </Button>
            ))}
          </Stack>
        )}
        {ordered.slice(0, shown).map((record) => (
          <PendingRecord
            key={record.base.record.ID}
            resource={resource}
            staged={record}
            onClose={close}
            onDrop={drop}
            onChoose={decide}
          />
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
  readonly resource: ResourceInfo;
  readonly staged: StagedRecord;
  readonly onClose: () => void;
  /** Discards a record's edits. */
  readonly onDrop: (id: number) => void;
  /** Chooses whose value a field keeps. */
  readonly onChoose: (choice: Choice, at: Place) => void;
}

function PendingRecord({ resource, staged, onClose, onDrop, onChoose }: PendingRecordProps) {
  const siteName = useSiteName();
  const { base, texts, faults, conflict, choices } = staged;
  const { ID: id } = base.record;
  const name = showInvisible(textAt(base.record, "Name")) || `#${id}`;
  const whole = faults.get("");
  const conflicting = conflictsIn(staged);
  const mine = [...texts].map(([path, text]) => ({
    path,
    before: textAt(base.record, path),
    after: text,
    fault: faults.get(path),
    isMine: true,
  }));
  const theirs = conflict?.record ? differences(base.record, conflict.record) : [];
  const others = [...mine, ...theirs.map((field) => ({ ...field, fault: undefined, isMine: false }))].filter(
    ({ path, fault }) => fault || !conflicting.some((field) => field.path === path),
  );
  const dropText = translate(conflict ? "record.discard_mine" : "record.pending_drop");
  return (
    <Box component="section" aria-label={name} sx={recordStyle}>
      <Stack direction="row" useFlexGap spacing={1} sx={{ alignItems: "baseline", flexWrap: "wrap" }}>
        <Link
          component={RouterLink}
          to={`/${siteName}/${resource.path}/${id}`}
          onClick={onClose}
          sx={{ fontWeight: 600, overflowWrap: "anywhere" }}
        >
          {name}
        </Link>
        <Typography variant="body2" color="textSecondary">
          {translate("record.id", { id })}
        </Typography>
        <Box sx={{ flexGrow: 1 }} />
        <Button size="small" onClick={() => onDrop(id)} aria-label={`${dropText}: ${name}`}>
          {dropText}
        </Button>
      </Stack>
      {conflict && (
        <Alert severity="warning" sx={{ my: 0.5 }}>
          <ChangedBy conflict={conflict} />
        </Alert>
      )}
      {whole && <Alert severity="error">{whole}</Alert>}
      {conflicting.map((field) => (
        <FieldChoice
          key={field.path}
          field={field}
          chosen={choices.get(field.path)}
          onChoose={(choice) => onChoose(choice, { id, path: field.path })}
        />
      ))}
      <Box component="dl">
        {others.map(({ path, before, after, fault, isMine }) => (
          <Box key={`${path} ${isMine}`} className="field">
            <dt>{fullLabelOf(path)}</dt>
            <dd>
              {conflict && `${translate(isMine ? "record.mine" : "record.theirs")}: `}
              <OldAndNewValue before={before} after={after} />
              {after === "" && <em>{translate("record.empty_value")}</em>}
              {fault && <div className="fault">{fault}</div>}
            </dd>
          </Box>
        ))}
      </Box>
    </Box>
  );
}

const sides = ["theirs", "mine"] as const;

interface FieldChoiceProps {
  readonly field: ConflictingField;
  readonly chosen: Choice | undefined;
  readonly onChoose: (choice: Choice) => void;
}

/** Shows a conflicting field's three values, and asks which of the two new ones to keep. */
function FieldChoice({ field, chosen, onChoose }: FieldChoiceProps) {
  const labelled = (side: "original" | Choice) =>
    `${translate(`record.${side}`)}: ${showInvisible(field[side]) || translate("record.empty_value")}`;
  return (
    <FormControl component="fieldset" sx={{ display: "flex", mt: 1, overflowWrap: "anywhere" }}>
      <FormLabel component="legend">{fullLabelOf(field.path)}</FormLabel>
      <Typography color="textSecondary">{labelled("original")}</Typography>
      <RadioGroup value={chosen ?? ""} onChange={({ target }) => onChoose(target.value as Choice)}>
        {sides.map((side) => (
          <FormControlLabel key={side} value={side} control={<Radio size="small" />} label={labelled(side)} />
        ))}
      </RadioGroup>
    </FormControl>
  );
}

function ChangedBy({ conflict: { record, changed } }: { readonly conflict: ConflictInfo }) {
  const { operator } = useSession();
  const key = record === null ? "record.deleted_by" : "record.changed_by";
  if (!changed) return translate(record === null ? "record.deleted_meanwhile" : "record.changed_meanwhile");
  const isOwn = changed.actor.startsWith("console:") && changed.name === operator;
  const name = isOwn ? translate("record.you") : showInvisible(changed.name ?? changed.actor);
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
