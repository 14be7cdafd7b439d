import { Typography } from "@mui/material";
import { useTranslate } from "react-admin";
import { useBlocker } from "react-router-dom";
import { Confirm } from "../confirm.tsx";
import { endAsking, forgetUnsaved, hasUnsaved, useAsked } from "./unsaved.ts";

/** Asks before a page is left, or a form is closed, that has changes that were not saved. */
export function UnsavedGuard() {
  const translate = useTranslate();
  const asked = useAsked();
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => hasUnsaved() && currentLocation.pathname !== nextLocation.pathname,
  );
  if (!asked && blocker.state !== "blocked") return null;
  async function discard() {
    if (asked) return asked();
    forgetUnsaved();
    blocker.proceed?.();
  }
  function stay() {
    if (asked) endAsking();
    // Also after a navigation went on, which it does not change.
    else if (blocker.state === "blocked") blocker.reset();
  }
  return (
    <Confirm
      title={translate("record.discard_title")}
      action={translate("record.discard")}
      isDangerous
      onConfirm={discard}
      onClose={stay}
    >
      <Typography>{translate("record.discard_explain")}</Typography>
    </Confirm>
  );
}
