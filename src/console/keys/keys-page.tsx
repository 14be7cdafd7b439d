// The page of the API keys of a site: their list, and the dialog that is open over it.

import KeyIcon from "@mui/icons-material/Key";
import { Button } from "@mui/material";
import { useState } from "react";
import type { ListedKeyInfo, SiteInfo } from "../../admin/api/types.ts";
import { EmptyList } from "../shell/empty-list.tsx";
import { NewSecret } from "../shell/new-secret.tsx";
import { Page } from "../shell/page.tsx";
import { QueryResult } from "../shell/query-result.tsx";
import { findLive } from "../shell/sandboxes.ts";
import { useDeclared, useMay, useSiteInfo } from "../shell/site-context.ts";
import { useIsNarrow } from "../shell/theme.ts";
import { translate } from "../text/translate.ts";
import { KeyForm, RevokeKey, RotateKey } from "./key-dialogs.tsx";
import { KeyCards, KeyTable } from "./key-list.tsx";
import { type KeyTask, useKeyActions, useKeys } from "./keys.ts";

/** The dialog that is open over the list. */
type OpenKey =
  | { readonly kind: "new" }
  | { readonly kind: KeyTask; readonly apiKey: ListedKeyInfo }
  | { readonly kind: "secret"; readonly secret: string };

/** The page with the API keys of the site. */
export function KeysPage() {
  const query = useKeys();
  const [open, setOpen] = useState<OpenKey>();
  const isNarrow = useIsNarrow("md");
  const KeyList = isNarrow ? KeyCards : KeyTable;
  const make = useMay("settings") && (
    <Button variant="contained" data-shortcut="new" onClick={() => setOpen({ kind: "new" })} sx={{ flexShrink: 0 }}>
      {translate("keys.make")}
    </Button>
  );
  return (
    <Page title={translate("keys.title")} explain={translate("keys.explain")} actions={make}>
      <QueryResult query={query}>
        {(keys) =>
          keys.length === 0 ? (
            <EmptyList icon={KeyIcon} title={translate("keys.none")} explain={translate("keys.none_explain")} />
          ) : (
            <KeyList keys={keys} onTask={(kind, apiKey) => setOpen({ kind, apiKey })} />
          )
        }
      </QueryResult>
      <OpenDialog open={open} onOpen={setOpen} />
    </Page>
  );
}

function OpenDialog({
  open,
  onOpen,
}: {
  readonly open: OpenKey | undefined;
  readonly onOpen: (open: OpenKey | undefined) => void;
}) {
  const site = useSiteInfo();
  const { publicUrl, sites } = useDeclared();
  // A key of a sandbox opens it at the hostnames of its live site.
  const liveSite = findLive(sites, site) ?? site;
  const actions = useKeyActions();
  const close = () => onOpen(undefined);
  const show = async (issued: Promise<{ readonly key: string }>) => {
    const { key: secret } = await issued;
    // In a timeout, so that the dialog that asked for the secret closes first.
    setTimeout(() => onOpen({ kind: "secret", secret }));
  };
  if (!open) return null;
  if (open.kind === "new") return <KeyForm onSubmit={(settings) => show(actions.create(settings))} onClose={close} />;
  if (open.kind === "secret") {
    const secrets = {
      [translate("keys.key")]: open.secret,
      [translate("keys.try_it")]: curlLine(liveSite, publicUrl, open.secret),
    };
    return (
      <NewSecret
        title={translate("keys.made")}
        explain={translate("keys.shown_once")}
        secrets={secrets}
        onClose={close}
      />
    );
  }
  const { apiKey } = open;
  if (open.kind === "edit")
    return <KeyForm apiKey={apiKey} onSubmit={(settings) => actions.change(apiKey.id, settings)} onClose={close} />;
  if (open.kind === "rotate")
    return <RotateKey apiKey={apiKey} onRotate={(hours) => show(actions.rotate(apiKey.id, hours))} onClose={close} />;
  return <RevokeKey apiKey={apiKey} onRevoke={() => actions.revoke(apiKey.id)} onClose={close} />;
}

/** Returns a curl command with the key, which works on the machine of the server. */
function curlLine({ hostnames, isDefault }: SiteInfo, publicUrl: string, key: string): string {
  const host = isDefault || !hostnames[0] ? "" : `-H "Host: ${hostnames[0]}" `;
  return `curl ${host}-H "X-API-AUTH: ${key}" ${publicUrl}/restapi/brands.json`;
}
