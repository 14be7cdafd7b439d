// Messages shown over a page or instead of it: the server can't be reached, the session has ended, changes would be lost, the page crashed, or the
// address leads nowhere.

import { Alert, Button, Dialog, DialogContent, DialogTitle, Snackbar, Stack, Typography } from "@mui/material";
import { Component, type ReactNode, useEffect, useState } from "react";
import type { SessionResponse } from "../../admin/api/types.ts";
import { markRevoked, markSignedIn, probe, useServerAccess } from "../api/server-access.ts";
import { onSignInElsewhere, reloadWithoutAddress, SignInForm } from "../session/session.tsx";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { UpdatedError } from "../shell/lazy-part.tsx";
import { useDocumentTitle } from "../shell/page.tsx";
import { Link } from "../shell/router.tsx";
import { useSession, useSiteName } from "../shell/site-context.ts";
import { askBeforeLoss, countUnsaved, discardWaitingAction, markAllSaved, useWaitingAction } from "../shell/unsaved.ts";
import { translate } from "../text/translate.ts";

/** Says, over the unchanged page, that the server can't be reached or that the operator has to sign in again. */
export function AccessNotices() {
  const access = useServerAccess();
  return (
    <>
      <Unreachable />
      {(access === "signed-out" || access === "revoked") && <SessionEnded />}
    </>
  );
}

/** While the server can't be reached, this is the only message that says so. Reads wait, and changes that failed have no message of their own. */
export function Unreachable() {
  return useServerAccess() === "gone" && <TopNotice text={translate("app.gone")} />;
}

/** A message over the page, which stays usable. */
function TopNotice({ text }: { readonly text: string }) {
  return (
    <Snackbar open anchorOrigin={{ vertical: "top", horizontal: "center" }}>
      <Alert severity="warning" variant="filled" role="status">
        {text}
      </Alert>
    </Snackbar>
  );
}

const nobody = { operator: null, isRevoked: false } as const;

/** Asks the page's operator to sign in again. If another operator is signed in, offers to continue as that one. */
function SessionEnded() {
  const { id, operator } = useSession();
  const [found, setFound] = useState<SessionResponse | typeof nobody>();
  useEffect(() => {
    // This operator, or another one, may have signed in in another tab.
    const check = async () => {
      const signedIn = await probe();
      if (signedIn && signedIn.operator !== null && signedIn.id === id) markSignedIn();
      else setFound((before) => signedIn ?? before ?? nobody);
      if (signedIn?.operator === null && signedIn.isRevoked) markRevoked();
    };
    void check();
    return onSignInElsewhere(check);
  }, [id]);
  if (!found) return null;
  // Not a dialog, so that the operator can still copy what they've typed.
  if (found.operator === null && found.isRevoked)
    return <TopNotice text={`${translate("session.revoked")} ${translate("session.revoked_copy")}`} />;
  const { operator: other } = found;
  const names = { operator, other: other ?? "" };
  return (
    <Dialog open aria-labelledby="session-ended">
      <DialogTitle id="session-ended">
        {translate(other ? "session.other_title" : "session.ended_title", names)}
      </DialogTitle>
      <DialogContent>
        <Typography sx={{ mb: 3 }}>{translate(other ? "session.other" : "session.ended", names)}</Typography>
        <SignInForm staysOnPage onSignedIn={(session) => (session.id === id ? markSignedIn() : becomeOther())} />
        {other && (
          <Button onClick={() => askBeforeLoss(becomeOther)} sx={{ mt: 2 }}>
            {translate("session.continue_as", { name: other })}
          </Button>
        )}
      </DialogContent>
    </Dialog>
  );
}

function becomeOther() {
  markAllSaved();
  reloadWithoutAddress();
}

/** Asks before unsaved changes are lost by leaving a page or closing a form. */
export function UnsavedGuard() {
  const waiting = useWaitingAction();
  if (!waiting) return null;
  const count = countUnsaved();
  return (
    <ActionDialog
      title={translate("general.discard_title")}
      action={translate("general.discard")}
      cancelText={translate("general.keep_editing")}
      isDangerous
      // Uses a timeout, so that this dialog closes first, and the focus returns to the button that opened the form.
      onConfirm={async () => void setTimeout(waiting)}
      onClose={discardWaitingAction}
    >
      <Typography>
        {count > 0
          ? translate("record.pending_discard_explain", { smart_count: count })
          : translate("general.discard_explain")}
      </Typography>
    </ActionDialog>
  );
}

/** Shows our own crashes instead of a blank page, and parts that can't be loaded. React requires a class for this. */
export class FaultBoundary extends Component<{ readonly children: ReactNode }, { readonly fault?: Error }> {
  static getDerivedStateFromError(fault: Error) {
    return { fault };
  }

  override state: { readonly fault?: Error } = {};

  override render() {
    const { fault } = this.state;
    return fault ? <PageFault fault={fault} /> : this.props.children;
  }
}

function PageFault({ fault }: { readonly fault: Error }) {
  const isUpdated = fault instanceof UpdatedError;
  return (
    <Message
      title={translate(isUpdated ? "app.updated" : "app.broken")}
      detail={isUpdated ? fault.message : translate("app.broken_detail", { fault: fault.message })}
    >
      <Button variant="contained" onClick={() => location.reload()}>
        {translate("app.reload")}
      </Button>
    </Message>
  );
}

export function UnknownPage() {
  const siteName = useSiteName();
  useDocumentTitle(translate("app.unknown_page"));
  return (
    <Message title={translate("app.unknown_page")} detail={translate("app.unknown_page_detail")}>
      <Button component={Link} to={`/${siteName}`} variant="contained">
        {translate("app.to_overview")}
      </Button>
    </Message>
  );
}

interface MessageProps {
  readonly title: string;
  readonly detail: string;
  readonly children: ReactNode;
}

function Message({ title, detail, children }: MessageProps) {
  return (
    <Stack spacing={2} sx={{ mt: 8, alignItems: "center", textAlign: "center" }}>
      <Typography component="h1" variant="h6">
        {title}
      </Typography>
      <Typography color="textSecondary" sx={{ maxWidth: 520, overflowWrap: "anywhere" }}>
        {detail}
      </Typography>
      {children}
    </Stack>
  );
}
