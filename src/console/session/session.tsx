// Signs in with a link or single sign-on, signs out, and reads the current session.

import { Alert, Box, Button, Divider, Stack, TextField, Link as TextLink, Typography } from "@mui/material";
import { type FormEvent, useState } from "react";
import type { SessionInfo, SessionResponse, SignInBody } from "../../admin/api/types.ts";
import { callApi, HttpError } from "../api/call-api.ts";
import { setSignInWays, useSignInWays } from "../api/server-access.ts";
import { PlainPage } from "../shell/page.tsx";
import { navigate } from "../shell/router.tsx";
import { translate } from "../text/translate.ts";

const linkInHash = /^#sign-in=([0-9A-Za-z]+)$/;

let opening: Promise<SessionInfo | undefined> | undefined;

/**
 * Signs in with the link in the address, if there is one, or else reads the current session. Concurrent calls share one attempt, because React may
 * run an effect twice.
 * @param insteadOf the signed-in operator's ID, if the link may replace that operator's session
 * @returns undefined if nobody is signed in
 * @throws HttpError
 */
export function openSession(insteadOf?: number): Promise<SessionInfo | undefined> {
  opening ??= openSessionOnce(insteadOf).finally(() => {
    opening = undefined;
  });
  return opening;
}

/** The server says why nobody could be signed in with single sign-on. */
const failedInHash = /^#sign-in-failed=(\w+)$/;

const failures = ["expired", "no_access", "down"] as const;

/** Only removes the link from the address once the server has decided, so that the page can try again, even after a reload. */
async function openSessionOnce(insteadOf: number | undefined): Promise<SessionInfo | undefined> {
  const [, link] = linkInHash.exec(location.hash) ?? [];
  const [, failed] = failedInHash.exec(location.hash) ?? [];
  if (!link && !failed) return goBack(await currentSession());
  try {
    const failure = failures.find((one) => one === failed) ?? "rejected";
    if (failed) throw new HttpError(translate(`session.failed_${failure}`), 401);
    const session = await redeem({ link: link ?? "", insteadOf });
    dropLink();
    return session;
  } catch (error) {
    if (!unusable.has((error as HttpError).status)) throw error;
    dropLink();
    const current = await currentSession();
    if (current) return current;
    throw error;
  }
}

/** Where to go after single sign-on: the fragment of an address, or `close` for a window that was only opened to sign in again. */
const returnKey = "storefront-return";

let isOnlyToSignIn = false;

/** Whether this window was opened by `signInInWindow`, and has done what it was for. */
export function hasOnlySignedIn(): boolean {
  return isOnlyToSignIn;
}

/** After single sign-on, only goes to pages of this console, whatever else may have been stored. */
function goBack(session: SessionInfo | undefined): SessionInfo | undefined {
  const place = readTabValue(returnKey);
  if (!session || place === undefined) return session;
  isOnlyToSignIn = place === "close";
  announceSignIn(session);
  navigate(place.startsWith("#/") ? place.slice(1) : "/", { replace: true });
  return session;
}

/** Leaves the page for the provider. After a failed attempt, the address no longer says where to go, so that's kept. */
function signInHere(): void {
  if (location.hash.length > "#/".length || readTabValue(returnKey) === undefined)
    setTabValue(returnKey, location.hash);
  location.assign("/sign-in");
}

/** Opens the provider in another window, so that nothing on this page is lost. Returns false if the browser doesn't allow that. */
function signInInWindow(): boolean {
  // The window starts with a copy of this tab's values.
  const before = readTabValue(returnKey);
  setTabValue(returnKey, "close");
  const opened = window.open("/sign-in", "_blank", "popup,width=540,height=720");
  setTabValue(returnKey, before);
  // The provider's page mustn't be able to take this one elsewhere.
  if (opened) opened.opener = null;
  return opened !== null;
}

// Browsers can refuse to store anything.

function readTabValue(key: string): string | undefined {
  try {
    return sessionStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

function setTabValue(key: string, value: string | undefined): void {
  try {
    if (value === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, value);
  } catch {
    // People then return to the first page.
  }
}

/** Statuses for a link that can't be used: 401, and 429 after many such links. */
const unusable = new Set([401, 429]);

export function dropLink(): void {
  navigate("/", { replace: true });
}

/** Reloads the page without the rest of its address, which may contain the previous operator's searches. */
export function reloadWithoutAddress(): void {
  location.hash = "";
  location.reload();
}

/** Reloads the page if a sign-in link is pasted into its address bar, because browsers don't reload when only the fragment changes. */
window.addEventListener("hashchange", () => {
  if (linkInHash.test(location.hash) || failedInHash.test(location.hash)) location.reload();
});

/** Returns the secret in a link, or in part of one, or undefined if there is none. */
function secretIn(text: string): string | undefined {
  return /(?:^|sign-in=)([0-9A-Za-z]{32})$/.exec(text.trim())?.[1];
}

/**
 * Signs in with a link.
 * @throws HttpError with the status 409 if another operator is signed in, see `operatorIn`
 */
async function redeem(body: SignInBody): Promise<SessionInfo> {
  const { ways, ...session } = await callApi<SessionInfo & Pick<SessionResponse, "ways">>("POST", "/session", body);
  setSignInWays(ways);
  announceSignIn(session);
  return session;
}

function announceSignIn({ id }: SessionInfo): void {
  setTabValue(returnKey, undefined);
  const channel = new BroadcastChannel(signInChannel);
  channel.postMessage(id);
  channel.close();
}

const signInChannel = "storefront-sign-in";

/** Calls `listener` when someone may have signed in in another tab or window. Returns a function that stops that. */
export function onSignInElsewhere(listener: () => void): () => void {
  const channel = new BroadcastChannel(signInChannel);
  channel.addEventListener("message", listener);
  window.addEventListener("focus", listener);
  return () => {
    channel.close();
    window.removeEventListener("focus", listener);
  };
}

/** Returns the signed-in operator's ID, if a request was rejected because its page or link is another operator's. */
export function operatorIn(error: unknown): number | undefined {
  return (error as { readonly body?: { readonly operator?: number } }).body?.operator;
}

/** Returns undefined if nobody is signed in. @throws HttpError also if the operator was removed */
export async function currentSession(): Promise<SessionInfo | undefined> {
  const session = await callApi<SessionResponse>("GET", "/session");
  setSignInWays(session.ways);
  if (session.operator !== null) return session;
  if (session.isRevoked) throw new HttpError(translate("session.revoked"), 401);
  return undefined;
}

/** Signs out of this browser, or of all of them. */
export function signOut(everywhere: boolean): Promise<void> {
  return callApi("DELETE", everywhere ? "/sessions" : "/session");
}

interface SignInProps {
  readonly fault?: string | undefined;
  readonly onSignedIn: (session: SessionInfo) => void;
}

export function SignIn(props: SignInProps) {
  const { singleSignOn, signOutUrl, links } = useSignInWays();
  return (
    <PlainPage title={translate("session.title")}>
      {!singleSignOn && <Typography>{translate("session.explain")}</Typography>}
      <SignInForm {...props} />
      {signOutUrl && <TextLink href={signOutUrl}>{translate("session.sign_out_there")}</TextLink>}
      {links && <LinkHelp />}
    </PlainPage>
  );
}

function LinkHelp() {
  return (
    <>
      <Divider />
      <Typography component="h2" variant="subtitle1" sx={{ fontWeight: 600 }}>
        {translate("session.how")}
      </Typography>
      <Typography variant="body2">{translate("session.how_colleague")}</Typography>
      <Typography variant="body2">{translate("session.how_command")}</Typography>
      <Box component="code" sx={{ p: 1, borderRadius: 1, bgcolor: "action.hover", overflowX: "auto" }}>
        {translate("session.command")}
      </Box>
    </>
  );
}

/** Offers each way to sign in that the server has. @param staysOnPage whether single sign-on mustn't leave the page */
export function SignInForm({
  fault: before,
  staysOnPage,
  onSignedIn,
}: SignInProps & { readonly staysOnPage?: boolean }) {
  const { singleSignOn, links } = useSignInWays();
  const [fault, setFault] = useState(before);
  function signInWithProvider() {
    if (!staysOnPage) signInHere();
    else if (!signInInWindow()) setFault(translate("session.window_blocked"));
  }
  if (!singleSignOn) return <LinkForm fault={before} onSignedIn={onSignedIn} />;
  return (
    <Stack spacing={2}>
      {fault && <Alert severity="error">{fault}</Alert>}
      <Button variant="contained" onClick={signInWithProvider}>
        {translate(staysOnPage ? "session.continue_sso" : "session.sign_in_sso")}
      </Button>
      {links && <Divider>{translate("session.or")}</Divider>}
      {links && <LinkForm onSignedIn={onSignedIn} />}
    </Stack>
  );
}

function LinkForm({ fault: before, onSignedIn }: SignInProps) {
  const { singleSignOn } = useSignInWays();
  const [text, setText] = useState("");
  const [fault, setFault] = useState(before);
  const [replaced, setReplaced] = useState<number>();

  async function submit(event: FormEvent) {
    event.preventDefault();
    const secret = secretIn(text);
    if (!secret) return setFault(translate("session.invalid"));
    try {
      onSignedIn(await redeem({ link: secret, insteadOf: replaced }));
    } catch (error) {
      setReplaced(operatorIn(error));
      setFault((error as Error).message);
    }
  }

  return (
    <Stack component="form" onSubmit={submit} spacing={2}>
      <TextField
        label={translate("session.paste")}
        placeholder={translate("session.paste_example")}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setReplaced(undefined);
        }}
        autoComplete="off"
      />
      {fault && <Alert severity="error">{fault}</Alert>}
      <Button type="submit" variant={singleSignOn ? "outlined" : "contained"}>
        {replaced === undefined ? translate("session.sign_in") : translate("session.sign_in_instead")}
      </Button>
    </Stack>
  );
}
