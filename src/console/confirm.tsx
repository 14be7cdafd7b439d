import { Alert, Button, Dialog, DialogActions, DialogContent, DialogTitle, Stack } from "@mui/material";
import { type FormEvent, type ReactNode, useState } from "react";
import { useTranslate } from "react-admin";

interface ConfirmProps {
  readonly title: string;
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean | undefined;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog that does one thing. What went wrong is shown in it, and it stays open. */
export function Confirm({
  title,
  action,
  isDangerous = false,
  isDisabled = false,
  onConfirm,
  onClose,
  children,
}: ConfirmProps) {
  const translate = useTranslate();
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);

  async function submit(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      setFault((error as Error).message);
      setBusy(false);
    }
  }

  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="xs" aria-labelledby="confirm">
      <form onSubmit={submit}>
        <DialogTitle id="confirm">{title}</DialogTitle>
        <DialogContent>
          <Stack spacing={2}>
            {children}
            {fault && <Alert severity="error">{fault}</Alert>}
          </Stack>
        </DialogContent>
        <DialogActions>
          <Button onClick={onClose}>{translate("keys.cancel")}</Button>
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
