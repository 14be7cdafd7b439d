import { Alert, Dialog, DialogContent, DialogTitle, Snackbar, Typography } from "@mui/material";
import { useEffect } from "react";
import { useTranslate } from "react-admin";
import type { SessionInfo } from "../api.ts";
import { noteSignedIn, probe, useConnection } from "../connection.ts";
import { SignInForm } from "../sign-in.tsx";
import { useSession } from "../site-context.ts";

/** Says over the page, which stays as it is, that the server cannot be reached, or that the operator must sign in again. */
export function ConnectionNotices() {
  const translate = useTranslate();
  const connection = useConnection();
  return (
    <>
      <Snackbar open={connection === "gone"} anchorOrigin={{ vertical: "top", horizontal: "center" }}>
        <Alert severity="warning" variant="filled" role="status">
          {translate("app.gone")}
        </Alert>
      </Snackbar>
      {connection === "signed-out" && <SessionEnded />}
    </>
  );
}

function SessionEnded() {
  const translate = useTranslate();
  const { operator } = useSession();
  useEffect(() => {
    // The operator may have signed in on another tab.
    const look = async () => resume(operator, await probe());
    window.addEventListener("focus", look);
    return () => window.removeEventListener("focus", look);
  }, [operator]);
  return (
    <Dialog open aria-labelledby="session-ended">
      <DialogTitle id="session-ended">{translate("session.ended_title")}</DialogTitle>
      <DialogContent>
        <Typography sx={{ mb: 3 }}>{translate("session.ended")}</Typography>
        <SignInForm onSignedIn={(session) => resume(operator, session)} />
      </DialogContent>
    </Dialog>
  );
}

/** Continues, or starts anew for another operator: what was typed must not be saved in the name of someone else. */
function resume(operator: string, session: Pick<SessionInfo, "operator"> | { readonly operator: null } | undefined) {
  if (!session || session.operator === null) return;
  if (session.operator === operator) noteSignedIn();
  else location.reload();
}
