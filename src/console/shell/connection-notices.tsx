import { Alert, Button, Dialog, DialogContent, DialogTitle, Snackbar, Typography } from "@mui/material";
import { useEffect, useState } from "react";
import { useTranslate } from "react-admin";
import { noteSignedIn, probe, useConnection } from "../connection.ts";
import { startAnew } from "../session.ts";
import { SignInForm } from "../sign-in.tsx";
import { useSession } from "../site-context.ts";
import { askToLose, forgetUnsaved } from "./unsaved.ts";

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

/** Asks the operator of this page to sign in again. If someone else is signed in by now, the page can also become that operator's. */
function SessionEnded() {
  const translate = useTranslate();
  const { id, operator } = useSession();
  const [other, setOther] = useState<string>();
  useEffect(() => {
    // Another tab may have signed in the operator, or someone else.
    const look = async () => {
      const present = await probe();
      if (!present) return;
      if (present.operator !== null && present.id === id) noteSignedIn();
      else setOther(present.operator ?? undefined);
    };
    void look();
    window.addEventListener("focus", look);
    return () => window.removeEventListener("focus", look);
  }, [id]);
  const names = { operator, other };
  return (
    <Dialog open aria-labelledby="session-ended">
      <DialogTitle id="session-ended">
        {translate(other ? "session.other_title" : "session.ended_title", names)}
      </DialogTitle>
      <DialogContent>
        <Typography sx={{ mb: 3 }}>{translate(other ? "session.other" : "session.ended", names)}</Typography>
        <SignInForm onSignedIn={(session) => (session.id === id ? noteSignedIn() : becomeOther())} />
        {other && (
          <Button onClick={() => askToLose(becomeOther)} sx={{ mt: 2 }}>
            {translate("session.go_on_as", { name: other })}
          </Button>
        )}
      </DialogContent>
    </Dialog>
  );
}

/** Makes it the page of another operator. */
function becomeOther() {
  forgetUnsaved();
  startAnew();
}
