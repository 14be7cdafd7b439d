// The parts of the forms for a new and an existing record: title, buttons, and the question before changes are lost.

import CloseIcon from "@mui/icons-material/Close";
import DeleteIcon from "@mui/icons-material/Delete";
import { Button, IconButton, Stack, Typography } from "@mui/material";
import { useEffect } from "react";
import { SaveButton, Toolbar, useFormIsDirty } from "react-admin";
import { useFormState } from "react-hook-form";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { useDocumentTitle } from "../shell/page-title.tsx";
import { useUnsaved } from "../shell/unsaved.ts";
import { showInvisible } from "../text/show-invisible.ts";
import { translate } from "../text/translate.ts";

export interface RecordPageProps {
  readonly resource: ResourceInfo;
  /** Closes the form after it was saved. */
  readonly onClose: () => void;
  /** Leaves the form, after a question if it has changes that were not saved. */
  readonly onLeave: () => void;
}

export function FormHeader({ title, onLeave }: { readonly title: string; readonly onLeave: () => void }) {
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

/** Reports whether the surrounding form has changes that were not saved. */
export function UnsavedReporter({ onEdited }: { readonly onEdited?: (isEdited: boolean) => void }) {
  const isDirty = useFormIsDirty();
  useUnsaved(isDirty);
  useEffect(() => onEdited?.(isDirty), [isDirty, onEdited]);
  return null;
}

/** Keeps the buttons visible while the fields scroll. */
const toolbarStyle = {
  position: "sticky",
  bottom: 0,
  zIndex: 2,
  justifyContent: "space-between",
  borderTop: 1,
  borderColor: "divider",
  bgcolor: "background.paper",
} as const;

interface FormToolbarProps {
  readonly onDelete?: () => void;
}

export function FormToolbar({ onDelete }: FormToolbarProps) {
  const { isSubmitting } = useFormState();
  return (
    <Toolbar sx={toolbarStyle}>
      {/* It submits the form around it. React-admin then calls the data provider (api/data-provider.ts). */}
      <SaveButton alwaysEnable={!isSubmitting} />
      {onDelete && (
        <Button color="error" startIcon={<DeleteIcon />} onClick={onDelete}>
          {translate("record.delete")}
        </Button>
      )}
    </Toolbar>
  );
}
