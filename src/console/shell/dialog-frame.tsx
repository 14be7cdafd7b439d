// The frame of dialogs: a title, content and buttons. Used on its own, it's a dialog that only shows something.

import { Button, Dialog, DialogActions, DialogContent, type DialogProps, DialogTitle } from "@mui/material";
import { type ReactNode, useId } from "react";
import { translate } from "../text/translate.ts";
import { useIsNarrow } from "./theme.ts";

interface DialogFrameProps extends Pick<DialogProps, "maxWidth" | "onKeyDown"> {
  readonly title: string;
  /** Whether the title is code, such as a request. */
  readonly isCode?: boolean;
  /** Whether the dialog fills a phone's screen, because there's a lot to read. */
  readonly isLong?: boolean;
  /** Undefined if only a button may close the dialog. */
  readonly onClose?: () => void;
  /** By default, one that closes the dialog. */
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
      // Passing `undefined` would stop Escape from closing the dialog.
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
