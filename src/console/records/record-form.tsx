// The forms for new and existing records, at the side of the list. Each shows one staged record (staged-edits.ts).

import { Alert, Box, Button, IconButton, Stack, Tab, Tabs, TextField, Typography } from "@mui/material";
import { type FormEvent, type KeyboardEvent, memo, useCallback, useEffect, useRef, useState } from "react";
import type { RecordResponse } from "../../admin/api/record-types.ts";
import type { FieldInfo, ResourceInfo } from "../../admin/api/types.ts";
import type { HttpError } from "../api/call-api.ts";
import { HistoryList } from "../history/history-list.tsx";
import { CloseIcon, DeleteIcon } from "../shell/icons.tsx";
import { notify } from "../shell/notices.tsx";
import { useDocumentTitle } from "../shell/page.tsx";
import { LoadingLines, ReadFailed } from "../shell/query-result.tsx";
import { ViewOnlyNotice } from "../shell/role-notice.tsx";
import { useCan } from "../shell/site-context.ts";
import { isSaveKey, useEdited, useUnsaved } from "../shell/unsaved.ts";
import { faultOf, groupOf, labelOf, textAt, toValues } from "../text/fields.ts";
import { showInvisible, translate } from "../text/translate.ts";
import { StagedDialog, useSave } from "./pending-edits.tsx";
import { useRecord, useRecordWrites } from "./record-data.ts";
import { DeleteDialog } from "./selection.tsx";
import { newId, type StagedEdits, type StagedRecord, stageEdits } from "./staged-edits.ts";

interface RecordFormProps {
  readonly resource: ResourceInfo;
  /** Closes the form, after asking if it has unsaved changes. */
  readonly onLeave: () => void;
}

export function NewRecord({ resource, onLeave }: RecordFormProps) {
  const writes = useRecordWrites(resource.path);
  const send = ({ records }: StagedEdits) => writes.create(toValues(records.get(newId)?.texts ?? []));
  const form = useForm({ resource, item: nothing, send, onSaved: onLeave });
  return (
    <>
      <FormHeader title={translate("record.new", { name: resource.singular })} onLeave={onLeave} />
      <FieldsForm resource={resource} form={form} onSave={form.saving.save} />
    </>
  );
}

const nothing: RecordResponse = { record: { ID: newId }, version: "" };

interface EditRecordProps extends RecordFormProps {
  readonly id: string;
  /** The edits staged in the table, which the form starts with. */
  readonly first: StagedRecord | undefined;
  /** Called when the form's edits are saved or discarded, so that the table drops them too. */
  readonly onForget: (ids: readonly number[]) => void;
}

/** The form for an existing record, with its history. Give it a key per record, because its state belongs to one record. */
export function EditRecord(props: EditRecordProps) {
  const { resource, id, onLeave } = props;
  const { data, error, refetch } = useRecord(resource.path, id);
  if (data) return <RecordTabs {...props} item={data} />;
  const isMissing = (error as HttpError | null)?.status === 404;
  return (
    <>
      <FormHeader title={translate("record.id", { id })} onLeave={onLeave} />
      <Box sx={{ px: 2 }}>
        {isMissing && <Alert severity="warning">{translate("record.missing", { name: resource.singular, id })}</Alert>}
        {error && !isMissing && <ReadFailed error={error} onRetry={refetch} />}
        {!error && <LoadingLines />}
      </Box>
    </>
  );
}

interface RecordTabsProps extends EditRecordProps {
  readonly item: RecordResponse;
}

function RecordTabs({ resource, item, first, onLeave, onForget }: RecordTabsProps) {
  const [tab, setTab] = useState(0);
  const [isDeleting, setDeleting] = useState(false);
  const writes = useRecordWrites(resource.path);
  const { ID: id } = item.record;
  const form = useForm({ resource, item, first, send: writes.saveStaged, onSaved: finish });
  const { edits, staged, setStaged, saving } = form;
  function finish() {
    onForget([id]);
    onLeave();
  }
  function save() {
    if (edits) return void saving.save();
    notify(translate("record.unchanged"), "success");
    onLeave();
  }
  useEffect(() => {
    if (first && !edits) onForget([id]);
  }, [first, edits, onForget, id]);
  return (
    <>
      <FormHeader title={textAt(item.record, "Name")} onLeave={onLeave} />
      <Stack sx={{ px: 2 }}>
        <Typography variant="body2" color="textSecondary">
          {translate("record.id", { id })}
        </Typography>
      </Stack>
      <Tabs value={tab} onChange={(_event, value) => setTab(value)} sx={{ px: 1, mt: 1 }}>
        <Tab label={translate("record.details")} />
        <Tab label={translate("history.title")} />
      </Tabs>
      <Box hidden={tab !== 0}>
        <FieldsForm resource={resource} form={form} onSave={save} onDelete={() => setDeleting(true)} />
      </Box>
      {tab === 1 && <HistoryList filter={{ resource: resource.path, id }} isOfRecord />}
      {isDeleting && (
        <DeleteDialog resource={resource} ids={[id]} onDone={form.leave} onClose={() => setDeleting(false)} />
      )}
      {saving.isOpen && <StagedDialog resource={resource} staged={staged} onChange={setStaged} saving={saving} />}
    </>
  );
}

function FormHeader({ title, onLeave }: { readonly title: string; readonly onLeave: () => void }) {
  useDocumentTitle(title);
  return (
    <Stack direction="row" sx={{ pl: 2, pr: 1, pt: 1, alignItems: "center", justifyContent: "space-between" }}>
      <Typography component="h1" variant="h6" sx={{ overflowWrap: "anywhere" }}>
        {showInvisible(title)}
      </Typography>
      <IconButton onClick={onLeave} aria-label={translate("general.close")}>
        <CloseIcon />
      </IconButton>
    </Stack>
  );
}

interface Form {
  readonly resource: ResourceInfo;
  /** The stored record. */
  readonly item: RecordResponse;
  readonly first?: StagedRecord | undefined;
  readonly send: (staged: StagedEdits) => Promise<unknown>;
  readonly onSaved: () => void;
}

/** A form's state: the record's staged edits, and the record as it was at the first edit. Later reads don't replace that. */
function useForm({ resource, item, first, send, onSaved }: Form) {
  const { ID: id } = item.record;
  const [staged, setStaged] = useState<StagedEdits>(() => ({ records: new Map(first && [[id, first]]), steps: [] }));
  const edits = staged.records.get(id);
  const base = edits?.base ?? item;
  const isEdited = useEdited([...(edits?.texts ?? [])]) && edits !== undefined;
  const markSaved = useUnsaved(isEdited);
  const leave = () => {
    markSaved();
    onSaved();
  };
  const saving = useSave(resource, staged, setStaged, send, { onSaved: leave });
  const latest = useRef(base);
  latest.current = base;
  const change = useCallback(
    (path: string, text: string) =>
      setStaged((before) => stageEdits(before, [{ item: latest.current, path, text }], resource)),
    [resource],
  );
  return { base, edits, staged, setStaged, saving, change, leave };
}

interface FieldsFormProps {
  readonly resource: ResourceInfo;
  readonly form: ReturnType<typeof useForm>;
  readonly onSave: () => void;
  readonly onDelete?: () => void;
}

const buttonsStyle = {
  displayPrint: "none",
  position: "sticky",
  bottom: 0,
  zIndex: 2,
  px: 2,
  py: 1.5,
  justifyContent: "space-between",
  borderTop: 1,
  borderColor: "divider",
  bgcolor: "background.paper",
} as const;

/** A form's inputs and buttons. After an attempt to save, the first rejected text gets the focus. */
function FieldsForm({ resource, form, onSave, onDelete }: FieldsFormProps) {
  const { base, edits, saving, change } = form;
  const { isSaving } = saving;
  const element = useRef<HTMLFormElement>(null);
  const canEdit = useCan("records");
  const [attempts, setAttempts] = useState(0);
  const textOf = (path: string) => edits?.texts.get(path) ?? textAt(base.record, path);
  // In a new record, required fields matter even if nobody typed into them.
  const faultIn = (field: FieldInfo) =>
    edits?.faults.get(field.path) ?? (base === nothing ? faultOf(field, textOf(field.path)) : undefined);
  const whole = edits?.faults.get("");
  const groups = [...new Set(resource.fields.map(({ path }) => groupOf(path)))];
  useEffect(() => {
    if (attempts > 0 && !isSaving) element.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [attempts, isSaving]);
  function submit(event: FormEvent) {
    event.preventDefault();
    setAttempts(attempts + 1);
    if (resource.fields.every((field) => faultIn(field) === undefined)) onSave();
  }
  function onKeyDown(event: KeyboardEvent) {
    if (!canEdit || !isSaveKey(event)) return;
    event.preventDefault();
    element.current?.requestSubmit();
  }
  return (
    <form ref={element} onSubmit={submit} onKeyDown={onKeyDown} noValidate>
      <Box sx={{ px: 2, pt: 1, pb: 2 }}>
        <ViewOnlyNotice right="records" />
        {whole && <Alert severity="error">{whole}</Alert>}
        {groups.map((group) => (
          <Box key={group} component="fieldset" sx={groupStyle}>
            {group && (
              <Typography component="legend" variant="subtitle2" sx={{ p: 0, pr: 1 }}>
                {labelOf(group)}
              </Typography>
            )}
            {resource.fields
              .filter(({ path }) => groupOf(path) === group)
              .map((field) => (
                <FieldInput
                  key={field.path}
                  field={field}
                  text={textOf(field.path)}
                  fault={attempts > 0 || edits?.texts.has(field.path) ? faultIn(field) : undefined}
                  isReadOnly={!canEdit}
                  autoFocus={base === nothing && field === resource.fields[0]}
                  onChange={change}
                />
              ))}
          </Box>
        ))}
      </Box>
      {canEdit && (
        <Stack direction="row" sx={buttonsStyle}>
          <Button type="submit" variant="contained" disabled={isSaving}>
            {translate("general.save")}
          </Button>
          {onDelete && (
            <Button color="error" startIcon={<DeleteIcon />} onClick={onDelete}>
              {translate("record.delete")}
            </Button>
          )}
        </Stack>
      )}
    </form>
  );
}

/** Two short fields per line. */
const groupStyle = {
  width: "100%",
  minWidth: 0,
  border: 0,
  m: 0,
  p: 0,
  display: "grid",
  gridTemplateColumns: "1fr 1fr",
  columnGap: 1.5,
  // Keeps the buttons from covering the rejected field that gets the focus.
  "& input": { scrollMarginBlock: 128 },
  // A line above each group but the first.
  "& + &": { mt: 2, pt: 1, borderTop: 1, borderColor: "divider" },
};

const short = 128;

interface FieldInputProps {
  readonly field: FieldInfo;
  readonly text: string;
  readonly fault: string | undefined;
  readonly isReadOnly: boolean;
  readonly autoFocus: boolean;
  /** Must be stable. */
  readonly onChange: (path: string, text: string) => void;
}

const FieldInput = memo(function FieldInput({ field, text, fault, isReadOnly, autoFocus, onChange }: FieldInputProps) {
  const { path, required: isRequired, max } = field;
  const seen = showInvisible(text);
  // Invisible characters can't be seen in the input, so show them below it.
  const explained = seen === text ? undefined : translate("record.controls", { text: seen });
  return (
    <TextField
      name={path}
      autoFocus={autoFocus}
      label={labelOf(path)}
      value={text}
      onChange={({ target }) => onChange(path, target.value)}
      error={fault !== undefined}
      helperText={fault ?? explained}
      sx={{ gridColumn: groupOf(path) && max <= short ? "auto" : "1 / -1" }}
      slotProps={{
        inputLabel: { required: isRequired },
        htmlInput: { autoComplete: "off", "aria-required": isRequired, readOnly: isReadOnly },
      }}
    />
  );
});
