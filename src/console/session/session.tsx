// Signs in with a link, signs out, and reads the current session.

import { Alert, Box, Button, Divider, Stack, TextField, Typography } from "@mui/material";
import { type FormEvent, useState } from "react";
import type { SessionInfo, SessionResponse, SignInBody } from "../../admin/api/types.ts";
import { callApi, type HttpError } from "../api/call-api.ts";
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

/** Only removes the link from the address once the server has decided, so that the page can try again, even after a reload. */
async function openSessionOnce(insteadOf: number | undefined): Promise<SessionInfo | undefined> {
  const [, link] = linkInHash.exec(location.hash) ?? [];
  if (!link) return currentSession();
  try {
    const session = await redeemLink(link, insteadOf);
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
  if (linkInHash.test(location.hash)) location.reload();
});

/** Returns the secret in a link, or in part of one, or undefined if there is none. */
function secretIn(text: string): string | undefined {
  return /(?:^|sign-in=)([0-9A-Za-z]{32})$/.exec(text.trim())?.[1];
}

/**
 * Signs in with a link.
 * @param insteadOf the signed-in operator's ID, if the link may replace that operator's session
 * @throws HttpError with the status 409 if another operator is signed in, see `operatorIn`
 */
function redeemLink(link: string, insteadOf?: number): Promise<SessionInfo> {
  const body: SignInBody = { link, insteadOf };
  return callApi("POST", "/session", body);
}

/** Returns the signed-in operator's ID, if a request was rejected because its page or link is another operator's. */
export function operatorIn(error: unknown): number | undefined {
  return (error as { readonly body?: { readonly operator?: number } }).body?.operator;
}

/** Returns undefined if nobody is signed in. */
export async function currentSession(): Promise<SessionInfo | undefined> {
  const session = await callApi<SessionResponse>("GET", "/session");
  return session.operator === null ? undefined : session;
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
  return (
    <PlainPage title={translate("session.title")}>
      <Typography>{translate("session.explain")}</Typography>
      <SignInForm {...props} />
      <Divider />
      <Typography component="h2" variant="subtitle1" sx={{ fontWeight: 600 }}>
        {translate("session.how")}
      </Typography>
      <Typography variant="body2">{translate("session.how_colleague")}</Typography>
      <Typography variant="body2">{translate("session.how_command")}</Typography>
      <Box component="code" sx={{ p: 1, borderRadius: 1, bgcolor: "action.hover", overflowX: "auto" }}>
        {translate("session.command")}
      </Box>
    </PlainPage>
  );
}

export function SignInForm({ fault: before, onSignedIn }: SignInProps) {
  const [text, setText] = useState("");
  const [fault, setFault] = useState(before);
  const [replaced, setReplaced] = useState<number>();

  async function submit(event: FormEvent) {
    event.preventDefault();
    const secret = secretIn(text);
    if (!secret) return setFault(translate("session.invalid"));
    try {
      onSignedIn(await redeemLink(secret, replaced));
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
      <Button type="submit" variant="contained">
        {replaced === undefined ? translate("session.sign_in") : translate("session.sign_in_instead")}
      </Button>
    </Stack>
  );
}
