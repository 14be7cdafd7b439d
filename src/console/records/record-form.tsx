// The forms of a new and of an existing record, at the side of the list.

import { Alert, Box, Button, IconButton, Stack, Tab, Tabs, TextField, Typography } from "@mui/material";
import { type FormEvent, type KeyboardEvent, memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ConflictInfo, RecordResponse, RecordValues } from "../../admin/api/record-types.ts";
import type { FieldInfo, ResourceInfo } from "../../admin/api/types.ts";
import type { HttpError } from "../api/call-api.ts";
import { HistoryList } from "../history/history-list.tsx";
import { CloseIcon, DeleteIcon } from "../shell/icons.tsx";
import { notify } from "../shell/notices.tsx";
import { useDocumentTitle } from "../shell/page.tsx";
import { LoadingLines, ReadFailed } from "../shell/query-result.tsx";
import { LookOnly } from "../shell/role-notice.tsx";
import { useMay } from "../shell/site-context.ts";
import { isSaveKey, useUnsaved } from "../shell/unsaved.ts";
import { faultOf, groupOf, labelOf, textAt, toValues } from "../text/fields.ts";
import { showInvisible, translate } from "../text/translate.ts";
import { ConflictDialog } from "./conflict-dialog.tsx";
import { AddressBlock, ContactLinks } from "./known-fields.tsx";
import { useRecord, useRecordWrites } from "./record-data.ts";
import { DeleteDialog } from "./selection.tsx";

interface RecordFormProps {
  readonly resource: ResourceInfo;
  /** Closes the form, after a question if it has changes that were not saved. */
  readonly onLeave: () => void;
}

/** The form of a new record. */
export function NewRecord({ resource, onLeave }: RecordFormProps) {
  const writes = useRecordWrites(resource.path);
  const form = useFields(resource, nothing);
  const save = () =>
    form.submit(
      (texts) => writes.create(toValues(Object.entries(texts))),
      onLeave,
      (error) => notify(error.message, "error"),
    );
  return (
    <>
      <FormHeader title={translate("record.new", { name: resource.singular })} onLeave={onLeave} />
      <FieldsForm resource={resource} form={form} onSave={save} />
    </>
  );
}

const nothing: RecordResponse = { record: { ID: 0 }, version: "" };

interface EditRecordProps extends RecordFormProps {
  readonly id: string;
  /** Called with the record after it was saved. */
  readonly onSaved: (item: RecordResponse) => void;
}

/** The form of an existing record, with its history. It needs another key for each record: its state belongs to one. */
export function EditRecord(props: EditRecordProps) {
  const { resource, id, onLeave } = props;
  const [isEdited, setEdited] = useState(false);
  // The record is not read again while the operator types.
  const { data, error, refetch } = useRecord(resource.path, id, isEdited);
  if (data) return <RecordTabs {...props} item={data} onEdited={setEdited} onReread={refetch} />;
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
  readonly onEdited: (isEdited: boolean) => void;
  readonly onReread: () => unknown;
}

/** The dialog that is open over the form. */
type FormDialog =
  | { readonly kind: "delete" }
  | { readonly kind: "conflict"; readonly mine: RecordValues; readonly conflict: ConflictInfo };

/** The fields of a record, and its history. */
function RecordTabs({ resource, id, item, onLeave, onSaved, onEdited, onReread }: RecordTabsProps) {
  const [tab, setTab] = useState(0);
  const [open, setOpen] = useState<FormDialog>();
  const writes = useRecordWrites(resource.path);
  const form = useFields(resource, item);
  useEffect(() => onEdited(form.isEdited), [form.isEdited, onEdited]);
  const close = () => setOpen(undefined);
  function onDone(saved?: RecordResponse) {
    if (saved) onSaved(saved);
    form.markSaved();
    onLeave();
  }
  function onFailed(error: HttpError, texts: Texts) {
    const [conflict] = error.body.conflicts ?? [];
    if (!conflict) return notify(error.message, "error");
    setOpen({ kind: "conflict", mine: toValues(Object.entries(texts)), conflict });
  }
  const save = () =>
    form.submit((texts) => writes.update(id, toValues(Object.entries(texts)), form.base.version), onDone, onFailed);
  return (
    <>
      <RecordTitle resource={resource} item={item} onLeave={onLeave} />
      <Tabs value={tab} onChange={(_event, value) => setTab(value)} sx={{ px: 1, mt: 1 }}>
        <Tab label={translate("record.details")} />
        <Tab label={translate("history.title")} />
      </Tabs>
      <Box hidden={tab !== 0}>
        <FieldsForm resource={resource} form={form} onSave={save} onDelete={() => setOpen({ kind: "delete" })} />
      </Box>
      {tab === 1 && <HistoryList filter={{ resource: resource.path, id: Number(id) }} isOfRecord />}
      {open?.kind === "delete" && (
        <DeleteDialog resource={resource} ids={[Number(id)]} onDone={() => onDone()} onClose={close} />
      )}
      {open?.kind === "conflict" && (
        <ConflictDialog
          resource={resource}
          base={form.base.record}
          mine={open.mine}
          first={open.conflict}
          onClose={close}
          onDiscard={() => {
            close();
            form.reset();
            void onReread();
          }}
          onDone={onDone}
        />
      )}
    </>
  );
}

/** The name of the record, its ID, links to contact it, and its address. */
function RecordTitle({ resource, item: { record }, onLeave }: Pick<RecordTabsProps, "resource" | "item" | "onLeave">) {
  return (
    <>
      <FormHeader title={textAt(record, "Name")} onLeave={onLeave} />
      <Stack sx={{ px: 2 }}>
        <Typography variant="body2" color="textSecondary">
          {translate("record.id", { id: record.ID })}
        </Typography>
        <ContactLinks record={record} resource={resource} />
        <AddressBlock record={record} />
      </Stack>
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

type Texts = Readonly<Record<string, string>>;

/** The state of a form: the texts of its fields, which of them are refused, and whether a text was changed. @param item the stored record */
function useFields(resource: ResourceInfo, item: RecordResponse) {
  // Only the texts that differ from those of the record as it was when the operator began to type. A later read does not replace that.
  const [edits, setEdits] = useState<Texts>({});
  const [faults, setFaults] = useState<Texts>({});
  const [isBusy, setBusy] = useState(false);
  const isEdited = Object.keys(edits).length > 0;
  const kept = useRef(item);
  if (!isEdited) kept.current = item;
  const base = kept.current;
  const texts = useMemo(
    () => Object.fromEntries(resource.fields.map(({ path }) => [path, edits[path] ?? textAt(base.record, path)])),
    [resource, base, edits],
  );
  const markSaved = useUnsaved(isEdited);
  const change = useCallback((path: string, text: string) => {
    const isSame = text === textAt(kept.current.record, path);
    setEdits(({ [path]: _, ...others }) => (isSame ? others : { ...others, [path]: text }));
    setFaults(({ [path]: _, ...others }) => others);
  }, []);

  /** Saves the texts, or marks the refused texts. */
  async function submit<T>(
    save: (texts: Texts) => Promise<T>,
    onDone: (result: T) => void,
    onFailed: (error: HttpError, texts: Texts) => void,
  ) {
    if (isBusy) return;
    const found = faultsIn(resource, (field) => faultOf(field, texts[field.path] ?? ""));
    setFaults(found);
    if (Object.keys(found).length > 0) return;
    setBusy(true);
    try {
      const result = await save(texts);
      markSaved();
      onDone(result);
    } catch (error) {
      const { errors = [] } = (error as HttpError).body ?? {};
      const refused = faultsIn(resource, ({ path }) => errors.find(({ field }) => field === path)?.detail);
      setFaults(refused);
      if (Object.keys(refused).length === 0) onFailed(error as HttpError, texts);
    }
    setBusy(false);
  }

  return { base, texts, faults, isEdited, isBusy, change, submit, markSaved, reset: () => setEdits({}) };
}

function faultsIn({ fields }: ResourceInfo, faultOfField: (field: FieldInfo) => string | undefined): Texts {
  const entries = fields.flatMap((field) => {
    const fault = faultOfField(field);
    return fault === undefined ? [] : [[field.path, fault] as const];
  });
  return Object.fromEntries(entries);
}

interface FieldsFormProps {
  readonly resource: ResourceInfo;
  readonly form: ReturnType<typeof useFields>;
  readonly onSave: () => void;
  readonly onDelete?: () => void;
}

/** Keeps the buttons visible while the fields scroll. */
const buttonsStyle = {
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

/** The inputs of a form, with its buttons. After an attempt to save, the first refused text has the focus. */
function FieldsForm({ resource, form, onSave, onDelete }: FieldsFormProps) {
  const { texts, faults, isBusy, change } = form;
  const element = useRef<HTMLFormElement>(null);
  const mayEdit = useMay("records");
  const isRefused = Object.keys(faults).length > 0;
  const [attempts, setAttempts] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each attempt
  useEffect(() => {
    if (isRefused && !isBusy) element.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [attempts, isBusy]);
  function submit(event: FormEvent) {
    event.preventDefault();
    setAttempts(attempts + 1);
    onSave();
  }
  function onKeyDown(event: KeyboardEvent) {
    if (!mayEdit || !isSaveKey(event)) return;
    event.preventDefault();
    element.current?.requestSubmit();
  }
  return (
    <form ref={element} onSubmit={submit} onKeyDown={onKeyDown} noValidate>
      <Box sx={{ px: 2, pt: 1, pb: 2 }}>
        <LookOnly right="records" />
        <RecordFields resource={resource} texts={texts} faults={faults} isReadOnly={!mayEdit} onChange={change} />
      </Box>
      {mayEdit && (
        <Stack direction="row" sx={buttonsStyle}>
          <Button type="submit" variant="contained" disabled={isBusy}>
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

/** The style of a group of fields: two short fields in a line. */
const groupStyle = {
  width: "100%",
  minWidth: 0,
  border: 0,
  m: 0,
  p: 0,
  display: "grid",
  gridTemplateColumns: "1fr 1fr",
  columnGap: 1.5,
  // A line above each further group.
  "& + &": { mt: 2, pt: 1, borderTop: 1, borderColor: "divider" },
};

/** Maximum length of a short field, in characters. */
const short = 128;

interface RecordFieldsProps {
  readonly resource: ResourceInfo;
  /** The texts of the fields, by path. A field without a text is empty. */
  readonly texts: Readonly<Record<string, string>>;
  /** Why texts are refused, by path. */
  readonly faults: Readonly<Record<string, string>>;
  readonly isReadOnly: boolean;
  /** Always the same function. */
  readonly onChange: (path: string, text: string) => void;
}

/** The inputs for the fields of a record, group by group. */
function RecordFields({ resource, texts, faults, isReadOnly, onChange }: RecordFieldsProps) {
  const groups = [...new Set(resource.fields.map(({ path }) => groupOf(path)))];
  return groups.map((group) => (
    <Box key={group} component="fieldset" sx={groupStyle}>
      {group && (
        <Typography component="legend" variant="subtitle2" sx={{ pt: 2, pb: 0.5, px: 0 }}>
          {labelOf(group)}
        </Typography>
      )}
      {resource.fields
        .filter(({ path }) => groupOf(path) === group)
        .map((field) => (
          <FieldInput
            key={field.path}
            field={field}
            text={texts[field.path] ?? ""}
            fault={faults[field.path]}
            isReadOnly={isReadOnly}
            onChange={onChange}
          />
        ))}
    </Box>
  ));
}

interface FieldInputProps extends Pick<RecordFieldsProps, "isReadOnly" | "onChange"> {
  readonly field: FieldInfo;
  readonly text: string;
  readonly fault: string | undefined;
}

const FieldInput = memo(function FieldInput({ field, text, fault, isReadOnly, onChange }: FieldInputProps) {
  const { path, required: isRequired, max } = field;
  const seen = showInvisible(text);
  // The input contains the invisible characters, so the text below it shows them.
  const explained = seen === text ? undefined : translate("record.controls", { text: seen });
  return (
    <TextField
      name={path}
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
