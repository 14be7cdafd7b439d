// The dialog that asks before changes in a form are lost. The forms report their changes to shell/unsaved.ts.

import { Typography } from "@mui/material";
import { useBlocker } from "react-router-dom";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { discardWaitingAction, hasUnsaved, markAllSaved, useWaitingAction } from "../shell/unsaved.ts";
import { translate } from "../text/translate.ts";

/** Asks before unsaved changes are lost: when the operator leaves a page, or closes a form. */
export function UnsavedGuard() {
  const waiting = useWaitingAction();
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => hasUnsaved() && currentLocation.pathname !== nextLocation.pathname,
  );
  if (!waiting && blocker.state !== "blocked") return null;
  async function discard() {
    if (waiting) return waiting();
    markAllSaved();
    blocker.proceed?.();
  }
  function stay() {
    if (waiting) discardWaitingAction();
    // Check the state, because the dialog also calls this after the navigation has continued.
    else if (blocker.state === "blocked") blocker.reset();
  }
  return (
    <ActionDialog
      title={translate("general.discard_title")}
      action={translate("general.discard")}
      isDangerous
      onConfirm={discard}
      onClose={stay}
    >
      <Typography>{translate("general.discard_explain")}</Typography>
    </ActionDialog>
  );
}
