// Notices and buttons for an operator whose role does not allow everything on a page.

import { Alert, Button } from "@mui/material";
import { translate } from "../text/translate.ts";
import { LockIcon } from "./icons.tsx";
import { Page } from "./page.tsx";
import { EmptyList } from "./query-result.tsx";
import { useMay, useSession } from "./site-context.ts";

interface LookOnlyProps {
  /** The right to change what the page shows. */
  readonly right: "records" | "settings";
}

/** Says that the operator may look but not change anything. Shows nothing to operators who may. */
export function LookOnly({ right }: LookOnlyProps) {
  const { role } = useSession();
  if (useMay(right)) return null;
  return (
    <Alert severity="info" variant="outlined" icon={<LockIcon />} sx={{ mb: 2 }}>
      {translate("roles.look_only", { role: translate(`roles.${role}`) })}
    </Alert>
  );
}

interface NewButtonProps {
  readonly text: string;
  readonly onClick: () => void;
}

export function NewButton({ text, onClick }: NewButtonProps) {
  if (!useMay("settings")) return null;
  return (
    <Button variant="contained" data-shortcut="new" onClick={onClick} sx={{ flexShrink: 0 }}>
      {text}
    </Button>
  );
}

/** The page for an address that the role or the sites of the operator don't open. @param title the title of the page that is not shown */
export function ClosedPage({ title }: { readonly title: string }) {
  const { role } = useSession();
  // An operator who may see the settings lacks only the other sites.
  const explain = useMay("read-settings")
    ? translate("roles.closed_all_sites")
    : translate("roles.closed", { role: translate(`roles.${role}`) });
  return (
    <Page title={title}>
      <EmptyList icon={LockIcon} title={translate("roles.closed_title")} explain={explain} />
    </Page>
  );
}
