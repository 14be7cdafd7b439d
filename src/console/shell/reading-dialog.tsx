// The frame of dialogs that only show something: a title, the content, and a button that closes the dialog.

import {
  Button,
  Dialog,
  DialogActions,
  DialogContent,
  type DialogProps,
  DialogTitle,
  type DialogTitleProps,
} from "@mui/material";
import { type ReactNode, useId } from "react";
import { translate } from "../text/translate.ts";
import { useIsNarrow } from "./theme.ts";

interface ReadingDialogProps extends Pick<DialogProps, "maxWidth"> {
  readonly title: ReactNode;
  readonly titleStyle?: DialogTitleProps["sx"];
  /** Whether the dialog fills the screen of a phone, because it has much to read. */
  readonly isLong?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog to read. */
export function ReadingDialog({ title, titleStyle, maxWidth, isLong, onClose, children }: ReadingDialogProps) {
  const titleId = useId();
  const isNarrow = useIsNarrow();
  return (
    <Dialog
      open
      fullWidth
      maxWidth={maxWidth ?? "xs"}
      fullScreen={isLong === true && isNarrow}
      onClose={onClose}
      aria-labelledby={titleId}
    >
      <DialogTitle id={titleId} {...(titleStyle ? { sx: titleStyle } : {})}>
        {title}
      </DialogTitle>
      <DialogContent>{children}</DialogContent>
      <DialogActions>
        <Button variant="contained" onClick={onClose}>
          {translate("general.close")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
