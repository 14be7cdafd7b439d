// The page and the form for a sign-in link.

import { Alert, Box, Button, Divider, Stack, TextField, Typography } from "@mui/material";
import { type FormEvent, useState } from "react";
import type { SessionInfo } from "../../admin/api/types.ts";
import { PlainPage } from "../shell/plain-page.tsx";
import { translate } from "../text/translate.ts";
import { operatorIn, redeemLink, secretIn } from "./session.ts";

interface SignInProps {
  readonly fault?: string | undefined;
  readonly onSignedIn: (session: SessionInfo) => void;
}

/** The page for people who are not signed in. */
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

/** A field for a sign-in link. */
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
        fullWidth
      />
      {fault && <Alert severity="error">{fault}</Alert>}
      <Button type="submit" variant="contained">
        {replaced === undefined ? translate("session.sign_in") : translate("session.sign_in_instead")}
      </Button>
    </Stack>
  );
}
