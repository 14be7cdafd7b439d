// The frame of dialogs: a title, the content, and buttons; on its own, a dialog that only shows something.

import { Button, Dialog, DialogActions, DialogContent, type DialogProps, DialogTitle } from "@mui/material";
import { type ReactNode, useId } from "react";
import { translate } from "../text/translate.ts";
import { useIsNarrow } from "./theme.ts";

interface DialogFrameProps extends Pick<DialogProps, "maxWidth" | "onKeyDown"> {
  readonly title: string;
  /** Whether the title is code, such as a request. */
  readonly isCode?: boolean;
  /** Whether the dialog fills the screen of a phone, because it has much to read. */
  readonly isLong?: boolean;
  /** Undefined if only a button closes the dialog. */
  readonly onClose?: () => void;
  /** By default, a button that closes the dialog. */
  readonly buttons?: ReactNode;
  readonly children: ReactNode;
}

export function DialogFrame(props: DialogFrameProps) {
  const { title, isCode, isLong, maxWidth = "xs", onClose, onKeyDown, buttons, children } = props;
  const titleId = useId();
  const isNarrow = useIsNarrow();
  const closeButton = (
    <Button variant="contained" onClick={onClose}>
      {translate("general.close")}
    </Button>
  );
  return (
    <Dialog
      open
      fullWidth
      maxWidth={maxWidth}
      fullScreen={isLong === true && isNarrow}
      onClose={onClose}
      // With `undefined`, Escape would not close the dialog.
      {...(onKeyDown ? { onKeyDown } : {})}
      aria-labelledby={titleId}
    >
      <DialogTitle
        id={titleId}
        sx={{ overflowWrap: "anywhere", ...(isCode ? { fontFamily: "monospace", fontSize: 15 } : {}) }}
      >
        {title}
      </DialogTitle>
      <DialogContent>{children}</DialogContent>
      <DialogActions>{buttons ?? closeButton}</DialogActions>
    </Dialog>
  );
}
