import { useCallback, useEffect, useState } from "react";
import { RouterProvider } from "react-router-dom";
import type { SessionInfo } from "./api.ts";
import { type Declared, loadDeclared } from "./declarations.ts";
import { Plain } from "./plain.tsx";
import { openRouter } from "./router.tsx";
import { currentSession, redeemLink, takeLink } from "./session.ts";
import { SignIn } from "./sign-in.tsx";
import { Sites, SitesContext } from "./sites.tsx";
import { texts } from "./texts.ts";

type State =
  | { readonly kind: "loading" }
  | { readonly kind: "signed-out"; readonly fault?: string }
  | { readonly kind: "failed"; readonly fault: string }
  | { readonly kind: "ready"; readonly session: SessionInfo; readonly declared: Declared };

const link = takeLink();

/** Signs in with the link in the address, if there is one, and then shows the sites. */
export function App() {
  const [state, setState] = useState<State>({ kind: "loading" });

  const open = useCallback(async (session: SessionInfo | undefined) => {
    if (!session) return setState({ kind: "signed-out" });
    setState({ kind: "ready", session, declared: await loadDeclared() });
  }, []);

  const begin = useCallback(async () => {
    setState({ kind: "loading" });
    try {
      await open(link ? await signInOnce(link) : await currentSession());
    } catch (error) {
      const fault = (error as Error).message;
      setState(
        (error as { status?: number }).status === 401 ? { kind: "signed-out", fault } : { kind: "failed", fault },
      );
    }
  }, [open]);

  const reload = useCallback(async () => {
    const declared = await loadDeclared();
    setState((present) => (present.kind === "ready" ? { ...present, declared } : present));
  }, []);

  useEffect(() => void begin(), [begin]);

  if (state.kind === "loading") return null;
  if (state.kind === "failed")
    return <Plain title={texts.app.unreachable} detail={state.fault} action={texts.app.retry} onAction={begin} />;
  if (state.kind === "signed-out") return <SignIn fault={state.fault} onSignedIn={open} />;
  return (
    <SitesContext value={{ session: state.session, declared: state.declared, reload }}>
      <RouterProvider router={openRouter(<Sites />)} />
    </SitesContext>
  );
}

let signingIn: Promise<SessionInfo> | undefined;

/** A link works once, and React may run an effect twice. */
function signInOnce(secret: string): Promise<SessionInfo> {
  signingIn ??= redeemLink(secret);
  return signingIn;
}
