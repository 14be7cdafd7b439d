// Notices and buttons for operators whose role limits what they can do on a page.

import { Alert, Button } from "@mui/material";
import { translate } from "../text/translate.ts";
import { LockIcon } from "./icons.tsx";
import { Page } from "./page.tsx";
import { EmptyList } from "./query-result.tsx";
import { useCan, useSession } from "./site-context.ts";

interface ViewOnlyNoticeProps {
  /** The right to change what the page shows. */
  readonly right: "records" | "settings";
}

/** Tells operators that they can't change anything here. Shows nothing if they can. */
export function ViewOnlyNotice({ right }: ViewOnlyNoticeProps) {
  const { role } = useSession();
  if (useCan(right)) return null;
  return (
    <Alert severity="info" variant="outlined" icon={<LockIcon />} sx={{ mb: 2 }}>
      {translate("roles.view_only", { role: translate(`roles.${role}`) })}
    </Alert>
  );
}

interface NewButtonProps {
  readonly text: string;
  readonly onClick: () => void;
}

export function NewButton({ text, onClick }: NewButtonProps) {
  if (!useCan("settings")) return null;
  return (
    <Button variant="contained" data-shortcut="new" onClick={onClick} sx={{ flexShrink: 0 }}>
      {text}
    </Button>
  );
}

/** Shown instead of a page that the operator's role or sites don't include. @param title the title of that page */
export function ClosedPage({ title }: { readonly title: string }) {
  const { role } = useSession();
  // Operators who can see settings only lack access to the other sites.
  const explain = useCan("read-settings")
    ? translate("roles.closed_all_sites")
    : translate("roles.closed", { role: translate(`roles.${role}`) });
  return (
    <Page title={title}>
      <EmptyList icon={LockIcon} title={translate("roles.closed_title")} explain={explain} />
    </Page>
  );
}
