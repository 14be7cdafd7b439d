// The form of an existing record, with its history and its dialogs.

import { Alert, Box, Stack, Tab, Tabs, Typography } from "@mui/material";
import { useState } from "react";
import { Edit, SimpleForm, useNotify, useRecordContext } from "react-admin";
import { HistoryList } from "../history/history-list.tsx";
import { LoadingLines, ReadFailed } from "../shell/query-result.tsx";
import { translate } from "../text/translate.ts";
import { type Conflict, ConflictDialog } from "./conflict-dialog.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";
import { FormHeader, FormToolbar, type RecordPageProps, UnsavedReporter } from "./form-parts.tsx";
import { AddressBlock, ContactLinks } from "./known-fields.tsx";
import { RecordFields } from "./record-fields.tsx";

/** The dialog that is open over the form. */
type FormDialog = { readonly kind: "delete" } | { readonly kind: "conflict"; readonly conflict: Conflict };

/** A form for an existing record, with its history. It needs another key for each record: its state belongs to one. */
export function RecordEdit(props: RecordPageProps & { readonly id: string }) {
  const { resource, id, onClose } = props;
  const notify = useNotify();
  const [open, setOpen] = useState<FormDialog>();
  const [isEdited, setEdited] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const onError = (
    error: unknown,
    { previousData, data }: { readonly previousData?: object; readonly data?: object },
  ) => {
    if ((error as { readonly status?: number }).status === 412)
      setOpen({ kind: "conflict", conflict: { base: previousData, mine: data } as Conflict });
    else notify((error as Error).message, { type: "error" });
  };
  const close = () => setOpen(undefined);
  const discard = () => {
    close();
    setEdited(false);
    setAttempt(attempt + 1);
  };
  return (
    <>
      <Edit
        id={id}
        // A new key after "discard" makes the form again, with the stored values.
        key={attempt}
        resource={resource.path}
        mutationMode="pessimistic"
        // The page has its own title. With an empty text, react-admin would show the name of the resource.
        title=" "
        component={Box}
        actions={false}
        mutationOptions={{ onSuccess: onClose, onError }}
        // Do not read the record again while the operator types. Otherwise typed values would be lost.
        queryOptions={{ refetchOnWindowFocus: false, enabled: !isEdited, onError: () => {} }}
        render={({ record, error, refetch }) =>
          record ? (
            <RecordTabs {...props} onEdited={setEdited} onDelete={() => setOpen({ kind: "delete" })} />
          ) : (
            <NoRecord {...props} error={error} onRetry={refetch} />
          )
        }
      />
      {open?.kind === "delete" && <DeleteDialog resource={resource} ids={[id]} onDone={onClose} onClose={close} />}
      {open?.kind === "conflict" && (
        <ConflictDialog
          resource={resource}
          id={id}
          conflict={open.conflict}
          onClose={close}
          onDiscard={discard}
          onDone={onClose}
        />
      )}
    </>
  );
}

interface NoRecordProps extends Pick<RecordPageProps, "resource" | "onLeave"> {
  readonly id: string;
  readonly error: Error | null;
  readonly onRetry: () => unknown;
}

/** The placeholder for a record that is being read, could not be read, or does not exist. */
function NoRecord({ resource, id, onLeave, error, onRetry }: NoRecordProps) {
  const isMissing = (error as { readonly status?: number } | null)?.status === 404;
  return (
    <>
      <FormHeader title={translate("record.id", { id })} onLeave={onLeave} />
      <Box sx={{ px: 2 }}>
        {isMissing && <Alert severity="warning">{translate("record.missing", { name: resource.singular, id })}</Alert>}
        {error && !isMissing && <ReadFailed error={error} onRetry={onRetry} />}
        {!error && <LoadingLines />}
      </Box>
    </>
  );
}

interface RecordTabsProps extends Omit<RecordPageProps, "onClose"> {
  readonly id: string;
  readonly onEdited: (isEdited: boolean) => void;
  readonly onDelete: () => void;
}

/** The fields of a record, and its history. */
function RecordTabs({ resource, id, onLeave, onEdited, onDelete }: RecordTabsProps) {
  const [tab, setTab] = useState(0);
  return (
    <>
      <RecordTitle resource={resource} onLeave={onLeave} />
      <Tabs value={tab} onChange={(_event, value) => setTab(value)} sx={{ px: 1 }}>
        <Tab label={translate("record.details")} />
        <Tab label={translate("history.title")} />
      </Tabs>
      <Box hidden={tab !== 0}>
        <SimpleForm toolbar={<FormToolbar onDelete={onDelete} />} warnWhenUnsavedChanges={false}>
          <RecordFields resource={resource} />
          <UnsavedReporter onEdited={onEdited} />
        </SimpleForm>
      </Box>
      {tab === 1 && <HistoryList filter={{ resource: resource.path, id: Number(id) }} isOfRecord />}
    </>
  );
}

/** The name of the record, its ID, links to contact it, and its address. */
function RecordTitle({ resource, onLeave }: Pick<RecordPageProps, "resource" | "onLeave">) {
  const record = useRecordContext();
  return (
    <>
      <FormHeader title={record?.Name ?? ""} onLeave={onLeave} />
      <Stack sx={{ px: 2 }}>
        <Typography variant="body2" color="textSecondary">
          {record && translate("record.id", { id: record.id })}
        </Typography>
        {record && <ContactLinks record={record} resource={resource} />}
        {record && <AddressBlock record={record} />}
      </Stack>
    </>
  );
}
