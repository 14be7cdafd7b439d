// The details of one request: its problem with all errors, its facts, and a line that repeats it.

import { Alert, AlertTitle, Box, Link, Stack } from "@mui/material";
import type { ReactNode } from "react";
import type { LoggedRequestInfo } from "../../admin/api/types.ts";
import { DialogFrame } from "../shell/dialog-frame.tsx";
import { CopyableText, useCurl } from "../shell/new-secret.tsx";
import { useDeclared } from "../shell/site-context.ts";
import { capitalized, toNumber } from "../text/locale.ts";
import { toDuration, toExactMoment } from "../text/times.tsx";
import { showInvisible, translate } from "../text/translate.ts";

interface RequestDetailsProps {
  readonly request: LoggedRequestInfo;
  readonly onClose: () => void;
}

/** The dialog with the details of a request. */
export function RequestDetails({ request, onClose }: RequestDetailsProps) {
  const { publicUrl } = useDeclared();
  const curl = useCurl();
  const { method, path, problem } = request;
  return (
    <DialogFrame title={`${method} ${showInvisible(path)}`} isCode maxWidth="sm" isLong onClose={onClose}>
      <Stack spacing={2}>
        {problem ? <Problem problem={problem} publicUrl={publicUrl} /> : null}
        <Facts request={request} />
        <CopyableText
          label={translate("requests.repeat")}
          text={curl(request)}
          help={translate("requests.repeat_help")}
        />
      </Stack>
    </DialogFrame>
  );
}

interface ProblemProps {
  readonly problem: NonNullable<LoggedRequestInfo["problem"]>;
  readonly publicUrl: string;
}

/** The problem in the response, with its errors, and a link to the page that explains it. */
function Problem({ problem: { code, title, detail, errors }, publicUrl }: ProblemProps) {
  return (
    <Alert severity="error" icon={false} sx={{ overflowWrap: "anywhere" }}>
      <AlertTitle>{title}</AlertTitle>
      <Detail text={detail} />
      {errors.length > 0 && (
        <Box component="ul" sx={{ m: 0, mt: 1, pl: 2.5 }}>
          {errors.map((error) => (
            <li key={`${error.field} ${error.detail}`}>
              <strong>{showInvisible(error.field)}</strong> <Detail text={error.detail} />
            </li>
          ))}
        </Box>
      )}
      <Box sx={{ mt: 1 }}>
        <Link href={`${publicUrl}/docs/problems/${encodeURIComponent(code)}`} target="_blank" rel="noopener">
          {translate("requests.about_problem")}
        </Link>
      </Box>
    </Alert>
  );
}

/** A text of the server. The names that it has in backticks are shown as code. */
export function Detail({ text }: { readonly text: string }) {
  const parts = capitalized(showInvisible(text)).split("`");
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text never change
  return parts.map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>));
}

/** The facts of a request, as pairs of a name and a value. */
function Facts({ request: { at, status, milliseconds, bytes, request, key } }: Pick<RequestDetailsProps, "request">) {
  const facts: readonly (readonly [string, ReactNode])[] = [
    [translate("general.time"), toExactMoment(at)],
    [translate("general.status"), status],
    [translate("requests.key"), key ? <KeyName key="key" apiKey={key} /> : translate("requests.no_key")],
    [translate("general.took"), toDuration(milliseconds)],
    [translate("requests.size"), translate("general.bytes", { count: toNumber(bytes) })],
    [translate("requests.id"), <code key="id">{request}</code>],
  ];
  return (
    <Box
      component="dl"
      sx={{ m: 0, display: "grid", gridTemplateColumns: "auto 1fr", columnGap: 2, rowGap: 0.5, fontSize: 14 }}
    >
      {facts.map(([name, value]) => (
        <Box key={name} sx={{ display: "contents" }}>
          <Box component="dt" sx={{ color: "text.secondary" }}>
            {name}
          </Box>
          <Box component="dd" sx={{ m: 0, overflowWrap: "anywhere" }}>
            {value}
          </Box>
        </Box>
      ))}
    </Box>
  );
}

/** The purpose of a key, and the beginning of the key. */
function KeyName({ apiKey: { label, prefix } }: { readonly apiKey: NonNullable<LoggedRequestInfo["key"]> }) {
  return (
    <>
      {label ? `${showInvisible(label)} ` : ""}
      <code>{prefix}…</code>
    </>
  );
}
