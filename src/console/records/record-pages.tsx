import CloseIcon from "@mui/icons-material/Close";
import { Box, IconButton, Stack, Tab, Tabs, Typography } from "@mui/material";
import { useEffect, useState } from "react";
import {
  Create,
  DeleteButton,
  Edit,
  SaveButton,
  SimpleForm,
  Toolbar,
  useNotify,
  useRecordContext,
  useTranslate,
} from "react-admin";
import { useFormState } from "react-hook-form";
import type { ResourceDeclaration } from "../declarations.ts";
import { HistoryList } from "../history/history-list.tsx";
import { AddressBlock } from "./address.tsx";
import { ConflictDialog } from "./conflict-dialog.tsx";
import { ContactLinks } from "./contact-links.tsx";
import { RecordFields } from "./record-form.tsx";

interface RecordPageProps {
  readonly resource: ResourceDeclaration;
  /** Closes the form after it was saved. */
  readonly onClose: () => void;
  /** Closes the form, and asks first when there are changes that were not saved. */
  readonly onLeave: () => void;
  /** Is called with whether there are such changes. */
  readonly onEdited: (isEdited: boolean) => void;
}

/** A form for a new record. */
export function RecordCreate({ resource, onClose, onLeave, onEdited }: RecordPageProps) {
  const translate = useTranslate();
  return (
    <Create title=" " resource={resource.path} mutationOptions={{ onSuccess: onClose }} component={Box}>
      <FormHeader title={translate("record.new", { name: resource.singular })} onLeave={onLeave} />
      <SimpleForm toolbar={<FormToolbar />}>
        <RecordFields resource={resource} />
        <EditedNote onEdited={onEdited} />
      </SimpleForm>
    </Create>
  );
}

/** A form for a record that exists, and its history. */
export function RecordEdit({ resource, id, onClose, onLeave, onEdited }: RecordPageProps & { readonly id: string }) {
  const translate = useTranslate();
  const notify = useNotify();
  const [tab, setTab] = useState(0);
  const [conflict, setConflict] = useState<object>();
  const onError = (error: unknown, variables: { readonly data?: object }) => {
    if ((error as { readonly status?: number }).status === 412) setConflict(variables.data);
    else notify((error as Error).message, { type: "error" });
  };
  return (
    <Edit
      id={id}
      key={id}
      resource={resource.path}
      mutationMode="pessimistic"
      title=" "
      component={Box}
      actions={false}
      mutationOptions={{ onSuccess: onClose, onError }}
      queryOptions={{ refetchOnWindowFocus: false }}
    >
      <RecordTitle resource={resource} onLeave={onLeave} />
      <Tabs value={tab} onChange={(_event, value) => setTab(value)} sx={{ px: 1 }}>
        <Tab label={translate("record.details")} />
        <Tab label={translate("history.title")} />
      </Tabs>
      <Box hidden={tab !== 0}>
        <SimpleForm toolbar={<FormToolbar onDeleted={onClose} />} warnWhenUnsavedChanges={false}>
          <RecordFields resource={resource} />
          <EditedNote onEdited={onEdited} />
        </SimpleForm>
      </Box>
      {tab === 1 && <HistoryList filter={{ resource: resource.path, id: Number(id) }} isOfRecord />}
      {conflict && (
        <ConflictDialog
          resource={resource}
          id={id}
          mine={conflict}
          onClose={() => setConflict(undefined)}
          onDone={onClose}
        />
      )}
    </Edit>
  );
}

/** The name of the record, and its address as people write it. */
function RecordTitle({ resource, onLeave }: Pick<RecordPageProps, "resource" | "onLeave">) {
  const record = useRecordContext();
  return (
    <>
      <FormHeader title={record?.Name ?? ""} onLeave={onLeave} />
      <Stack sx={{ px: 2 }}>
        <Typography variant="body2" color="textSecondary">
          {resource.singular} {record?.id}
        </Typography>
        {record && <ContactLinks record={record} resource={resource} />}
        {record?.Address && <AddressBlock record={record} />}
      </Stack>
    </>
  );
}

function FormHeader({ title, onLeave }: { readonly title: string; readonly onLeave: () => void }) {
  const translate = useTranslate();
  return (
    <Stack direction="row" sx={{ pl: 2, pr: 1, pt: 1, alignItems: "center", justifyContent: "space-between" }}>
      <Typography component="h1" variant="h6" sx={{ overflowWrap: "anywhere" }}>
        {title}
      </Typography>
      <IconButton onClick={onLeave} aria-label={translate("record.close")}>
        <CloseIcon />
      </IconButton>
    </Stack>
  );
}

/** Says whether the form around it has changes that were not saved. */
function EditedNote({ onEdited }: Pick<RecordPageProps, "onEdited">) {
  const { isDirty } = useFormState();
  useEffect(() => {
    onEdited(isDirty);
    return () => onEdited(false);
  }, [isDirty, onEdited]);
  return null;
}

interface FormToolbarProps {
  readonly onDeleted?: () => void;
}

function FormToolbar({ onDeleted }: FormToolbarProps) {
  const record = useRecordContext();
  return (
    <Toolbar sx={{ justifyContent: "space-between" }}>
      <SaveButton alwaysEnable />
      {record && onDeleted && (
        <DeleteButton
          mutationMode="pessimistic"
          redirect={false}
          confirmTitle={String(record.Name)}
          mutationOptions={{ onSuccess: onDeleted }}
        />
      )}
    </Toolbar>
  );
}
