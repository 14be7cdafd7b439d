// The frame of most dialogs: a form with one action. It shows an error if the action fails, and asks before what you typed is lost.

import { Alert, Button, LinearProgress, Stack, Typography } from "@mui/material";
import { type FormEvent, type ReactNode, useEffect, useId, useRef } from "react";
import { translate } from "../text/translate.ts";
import { DialogFrame } from "./dialog-frame.tsx";
import { useAttempt } from "./site-data.ts";
import { askBeforeLoss, discardWaitingAction, useUnsaved } from "./unsaved.ts";

interface ActionDialogProps {
  readonly title: string;
  readonly action: string;
  /** The button that closes the dialog without acting; `Cancel` by default. */
  readonly cancelText?: string;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean | undefined;
  /** Whether anything was typed or chosen. If so, the dialog asks before it closes without acting. */
  readonly isEdited?: boolean;
  /** Shown while an action runs that can take long. The dialog may then be closed; the action continues. */
  readonly busyText?: string;
  /** The dialog closes once it resolves, unless the result is `false`. Don't wait for more than the action's response. */
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog with one action. If that fails, the dialog stays open and shows the error. */
export function ActionDialog({
  title,
  action,
  cancelText = translate("general.cancel"),
  isDangerous = false,
  isDisabled = false,
  isEdited = false,
  busyText,
  onConfirm,
  onClose,
  children,
}: ActionDialogProps) {
  const { isBusy, fault, attempt } = useAttempt();
  const formId = useId();
  const isMounted = useIsMounted();
  const markSaved = useUnsaved(isEdited);
  const cancel = () => (isEdited ? askBeforeLoss(onClose) : onClose());

  function submit(event: FormEvent) {
    event.preventDefault();
    void attempt(async () => {
      const result = await onConfirm();
      markSaved();
      // If the question about unsaved changes was opened while the action ran, close it: nothing is left to lose.
      discardWaitingAction();
      if (result !== false && isMounted()) onClose();
    });
  }

  const buttons = (
    <>
      <Button onClick={cancel}>{isBusy && busyText ? translate("general.close") : cancelText}</Button>
      <Button
        type="submit"
        form={formId}
        variant="contained"
        color={isDangerous ? "error" : "primary"}
        disabled={isBusy || isDisabled}
      >
        {action}
      </Button>
    </>
  );
  return (
    <DialogFrame title={title} onClose={isBusy && !busyText ? ignore : cancel} buttons={buttons}>
      <Stack component="form" id={formId} onSubmit={submit} spacing={2}>
        {children}
        {fault && <Alert severity="error">{fault}</Alert>}
        {isBusy && busyText && (
          <div>
            <Typography role="status" sx={{ mb: 1 }}>
              {busyText}
            </Typography>
            <LinearProgress aria-label={busyText} />
          </div>
        )}
      </Stack>
    </DialogFrame>
  );
}

/** While a short action runs, only the button closes the dialog. It may shrink, so that the second click of a double click lands outside. */
function ignore() {}

/** Returns a function that tells whether the component is still mounted. */
export function useIsMounted(): () => boolean {
  const isMounted = useRef(false);
  useEffect(() => {
    isMounted.current = true;
    return () => {
      isMounted.current = false;
    };
  }, []);
  return () => isMounted.current;
}
