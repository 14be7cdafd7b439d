// The root component. Signs in with the link in the address, loads the declarations, and then shows the sites, or says why it can't.

import { Button } from "@mui/material";
import { useCallback, useEffect, useState } from "react";
import type { SessionInfo } from "../admin/api/types.ts";
import { type Declared, type HttpError, loadDeclared, setPageOperator } from "./api/call-api.ts";
import { onForbidden, useServerAccess } from "./api/server-access.ts";
import { SiteFrame } from "./frame/site-frame.tsx";
import { currentSession, dropLink, hasOnlySignedIn, openSession, operatorIn, SignIn } from "./session/session.tsx";
import { PlainPage } from "./shell/page.tsx";
import { translate } from "./text/translate.ts";

type State =
  | { readonly kind: "loading" }
  | { readonly kind: "signed-out"; readonly fault?: string }
  /** The link is for another operator than the one signed in. `operator` is the signed-in operator's ID. */
  | { readonly kind: "replace-session"; readonly operator: number; readonly fault: string }
  | { readonly kind: "failed"; readonly error: HttpError }
  /** This window was only opened to sign in again, and the browser hasn't closed it. */
  | { readonly kind: "done" }
  | { readonly kind: "ready"; readonly session: SessionInfo; readonly declared: Declared };

export function App() {
  const [state, setState] = useState<State>({ kind: "loading" });

  const open = useCallback(async (session: SessionInfo | undefined) => {
    if (!session) return setState({ kind: "signed-out" });
    setPageOperator(session.id);
    try {
      setState({ kind: "ready", session, declared: await loadDeclared() });
    } catch (error) {
      setState({ kind: "failed", error: error as HttpError });
    }
  }, []);

  const setSession = useCallback((session: SessionInfo | undefined) => {
    setState((current) =>
      current.kind === "ready" && session?.id === current.session.id ? { ...current, session } : current,
    );
  }, []);

  const begin = useCallback(
    async (insteadOf?: number) => {
      setState({ kind: "loading" });
      try {
        const session = await openSession(insteadOf);
        if (!hasOnlySignedIn()) return await open(session);
        setState({ kind: "done" });
        window.close();
      } catch (error) {
        setState(toState(error as HttpError));
      }
    },
    [open],
  );

  const reload = useCallback(async () => {
    const declared = await loadDeclared();
    setState((current) => (current.kind === "ready" ? { ...current, declared } : current));
  }, []);

  useEffect(() => void begin(), [begin]);
  // The operator's role or sites may have changed since the page was loaded.
  useEffect(
    () =>
      onForbidden(
        () =>
          void currentSession()
            .then(setSession)
            .catch(() => {}),
      ),
    [setSession],
  );

  if (state.kind === "loading") return <Loading />;
  if (state.kind === "failed") return <StartFailed error={state.error} onRetry={begin} />;
  if (state.kind === "replace-session") return <ReplaceSessionQuestion {...state} onDone={begin} />;
  if (state.kind === "done")
    return <PlainPage title={translate("session.continued_title")} detail={translate("session.continued")} />;
  if (state.kind === "signed-out") return <SignIn fault={state.fault} onSignedIn={open} />;
  return <SiteFrame session={state.session} declared={state.declared} reload={reload} />;
}

function toState(error: HttpError): State {
  const { status, message } = error;
  const operator = operatorIn(error);
  if (operator !== undefined) return { kind: "replace-session", operator, fault: message };
  // Either status means the link can't be used. With 429, too many failed before it.
  if (status === 401 || status === 429) return { kind: "signed-out", fault: message };
  return { kind: "failed", error };
}

/** Shows nothing while the page loads, unless the server can't be reached or the session has ended. */
function Loading() {
  const access = useServerAccess();
  if (access === "gone")
    return <PlainPage title={translate("app.unreachable")} detail={translate("app.unreachable_start")} />;
  if (access === "signed-out") return <SignIn onSignedIn={() => location.reload()} />;
  return null;
}

function StartFailed({ error, onRetry }: { readonly error: HttpError; readonly onRetry: () => void }) {
  const isUnreachable = error.status === 0;
  return (
    <PlainPage
      title={translate(isUnreachable ? "app.unreachable" : "app.not_opened")}
      detail={isUnreachable ? translate("app.unreachable_start") : error.message}
      action={translate("general.retry")}
      onAction={() => onRetry()}
    />
  );
}

interface ReplaceSessionProps {
  readonly operator: number;
  readonly fault: string;
  readonly onDone: (insteadOf?: number) => void;
}

/** Asks before a link replaces the session of another operator, who may be using another tab. */
function ReplaceSessionQuestion({ operator, fault, onDone }: ReplaceSessionProps) {
  function stay() {
    dropLink();
    onDone();
  }
  return (
    <PlainPage
      title={translate("session.asked_title")}
      detail={`${fault} ${translate("session.asked_explain")}`}
      action={translate("session.sign_in_instead")}
      onAction={() => onDone(operator)}
    >
      <Button variant="outlined" onClick={stay}>
        {translate("session.stay")}
      </Button>
    </PlainPage>
  );
}
