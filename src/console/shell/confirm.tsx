// The frame of most dialogs: a form with one action, which shows why the action failed, and asks before typed values are lost.

import { Alert, Button, Dialog, DialogActions, DialogContent, DialogTitle, Stack } from "@mui/material";
import { type FormEvent, type ReactNode, useId, useState } from "react";
import { translate } from "../text/translate.ts";
import { askBeforeLoss, useUnsaved } from "./unsaved.ts";

interface ConfirmProps {
  readonly title: string;
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean | undefined;
  /** Whether the operator typed or chose something. If so, the dialog asks before it is closed without its action. */
  readonly isEdited?: boolean;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog with one action. If the action fails, the dialog stays open and shows the error. */
export function Confirm({
  title,
  action,
  isDangerous = false,
  isDisabled = false,
  isEdited = false,
  onConfirm,
  onClose,
  children,
}: ConfirmProps) {
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  const titleId = useId();
  const markSaved = useUnsaved(isEdited);
  const cancel = () => (isEdited ? askBeforeLoss(onClose) : onClose());

  async function submit(event: FormEvent) {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    try {
      await onConfirm();
      markSaved();
      onClose();
    } catch (error) {
      setFault((error as Error).message);
      setBusy(false);
    }
  }

  return (
    <Dialog open onClose={cancel} fullWidth maxWidth="xs" aria-labelledby={titleId}>
      <form onSubmit={submit}>
        <DialogTitle id={titleId}>{title}</DialogTitle>
        <DialogContent>
          <Stack spacing={2}>
            {children}
            {fault && <Alert severity="error">{fault}</Alert>}
          </Stack>
        </DialogContent>
        <DialogActions>
          <Button onClick={cancel}>{translate("general.cancel")}</Button>
          <Button
            type="submit"
            variant="contained"
            color={isDangerous ? "error" : "primary"}
            disabled={isBusy || isDisabled}
          >
            {action}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
