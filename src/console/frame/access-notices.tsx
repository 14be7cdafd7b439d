// The notices over a page while the server cannot be reached, or until the operator has signed in again.

import { Alert, Button, Dialog, DialogContent, DialogTitle, Snackbar, Typography } from "@mui/material";
import { useEffect, useState } from "react";
import { markSignedIn, probe, useServerAccess } from "../api/server-access.ts";
import { reloadWithoutAddress } from "../session/session.ts";
import { SignInForm } from "../session/sign-in.tsx";
import { useSession } from "../shell/site-context.ts";
import { askBeforeLoss, markAllSaved } from "../shell/unsaved.ts";
import { translate } from "../text/translate.ts";

/** Shows over the unchanged page that the server cannot be reached, or that the operator must sign in again. */
export function AccessNotices() {
  const access = useServerAccess();
  return (
    <>
      <Snackbar open={access === "gone"} anchorOrigin={{ vertical: "top", horizontal: "center" }}>
        <Alert severity="warning" variant="filled" role="status">
          {translate("app.gone")}
        </Alert>
      </Snackbar>
      {access === "signed-out" && <SessionEnded />}
    </>
  );
}

/** Asks the operator of this page to sign in again. If another operator is signed in, offers to make this the page of that operator. */
function SessionEnded() {
  const { id, operator } = useSession();
  const [other, setOther] = useState<string>();
  useEffect(() => {
    // Another tab may have signed in this operator, or another one.
    const check = async () => {
      const present = await probe();
      if (!present) return;
      if (present.operator !== null && present.id === id) markSignedIn();
      else setOther(present.operator ?? undefined);
    };
    void check();
    window.addEventListener("focus", check);
    return () => window.removeEventListener("focus", check);
  }, [id]);
  const names = { operator, other: other ?? "" };
  return (
    <Dialog open aria-labelledby="session-ended">
      <DialogTitle id="session-ended">
        {translate(other ? "session.other_title" : "session.ended_title", names)}
      </DialogTitle>
      <DialogContent>
        <Typography sx={{ mb: 3 }}>{translate(other ? "session.other" : "session.ended", names)}</Typography>
        <SignInForm onSignedIn={(session) => (session.id === id ? markSignedIn() : becomeOther())} />
        {other && (
          <Button onClick={() => askBeforeLoss(becomeOther)} sx={{ mt: 2 }}>
            {translate("session.continue_as", { name: other })}
          </Button>
        )}
      </DialogContent>
    </Dialog>
  );
}

/** Makes this the page of the signed-in operator. */
function becomeOther() {
  markAllSaved();
  reloadWithoutAddress();
}
