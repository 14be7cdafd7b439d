// The frame of most dialogs: a form with one action, which shows why the action failed, and asks before typed values are lost.

import {
  Alert,
  Button,
  Dialog,
  DialogActions,
  DialogContent,
  DialogTitle,
  LinearProgress,
  Stack,
  Typography,
} from "@mui/material";
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { translate } from "../text/translate.ts";
import { askBeforeLoss, useUnsaved } from "./unsaved.ts";

interface ActionDialogProps {
  readonly title: string;
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean | undefined;
  /** Whether the operator typed or chose something. If so, the dialog asks before it is closed without its action. */
  readonly isEdited?: boolean;
  /** Says what happens while the action runs, if it can take long. The dialog may then be closed: the action continues. */
  readonly busyText?: string;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog with one action. If the action fails, the dialog stays open and shows the error. */
export function ActionDialog({
  title,
  action,
  isDangerous = false,
  isDisabled = false,
  isEdited = false,
  busyText,
  onConfirm,
  onClose,
  children,
}: ActionDialogProps) {
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  const titleId = useId();
  const isShown = useShown();
  const markSaved = useUnsaved(isEdited);
  const cancel = () => (isEdited ? askBeforeLoss(onClose) : onClose());

  async function submit(event: FormEvent) {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    try {
      await onConfirm();
      markSaved();
      if (isShown()) onClose();
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
            {fault && !isBusy && <Alert severity="error">{fault}</Alert>}
            {isBusy && busyText && (
              <div>
                <Typography role="status" sx={{ mb: 1 }}>
                  {busyText}
                </Typography>
                <LinearProgress aria-label={busyText} />
              </div>
            )}
          </Stack>
        </DialogContent>
        <DialogActions>
          <Button onClick={cancel}>{translate(isBusy && busyText ? "general.close" : "general.cancel")}</Button>
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

/** Returns a function that tells whether the component is shown now. */
export function useShown(): () => boolean {
  const isShown = useRef(false);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  return () => isShown.current;
}
