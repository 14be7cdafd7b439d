// The dialogs of the page of sites: adding, changing, suspending, resuming and removing a site.

import { Box, TextField, Typography } from "@mui/material";
import { useState } from "react";
import { useNavigate } from "react-router-dom";
import type { NewSiteBody, SiteBody, SiteInfo } from "../../admin/api/types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { NewSecret } from "../shell/new-secret.tsx";
import { ReadFailed } from "../shell/query-result.tsx";
import { findSandboxOf } from "../shell/sandboxes.ts";
import { useDeclared, useSiteInfo } from "../shell/site-context.ts";
import { markAllSaved } from "../shell/unsaved.ts";
import { toNumber } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { SandboxDialog } from "./sandbox-dialog.tsx";
import { AddSite, ChangeSite } from "./site-form.tsx";
import { useSiteActions, useSiteContents } from "./sites.ts";

/** The dialog that is open over the list of sites. */
export type OpenSite =
  | { readonly kind: "new" }
  | { readonly kind: "edit" | "suspend" | "resume" | "sandbox" | "renew" | "remove"; readonly site: SiteInfo }
  | { readonly kind: "secret"; readonly name: string; readonly secret: string };

interface SiteDialogsProps {
  readonly open: OpenSite | undefined;
  readonly onOpen: (open: OpenSite | undefined) => void;
  readonly isForAll: boolean;
}

export function SiteDialogs({ open, onOpen, isForAll }: SiteDialogsProps) {
  const { add, change, remove } = useActionsWithNavigation();
  const close = () => onOpen(undefined);
  if (!open) return null;
  if (open.kind === "new") {
    const submit = async (site: NewSiteBody) => {
      const { key } = await add(site);
      // In a timeout, so that the dialog that asked for the key closes first.
      if (key) setTimeout(() => onOpen({ kind: "secret", name: site.name, secret: key }));
    };
    return <AddSite onSubmit={submit} onClose={close} />;
  }
  if (open.kind === "secret") {
    const title = translate("sites.created", { name: open.name });
    return (
      <NewSecret
        title={title}
        explain={translate("keys.shown_once")}
        secrets={{ [translate("keys.key")]: open.secret }}
        onClose={close}
      />
    );
  }
  const { site, kind } = open;
  if (kind === "edit")
    return <ChangeSite site={site} hasDefault={isForAll} onSubmit={(values) => change(site, values)} onClose={close} />;
  if (kind === "sandbox" || kind === "renew") return <SandboxDialog site={site} kind={kind} onClose={close} />;
  if (kind === "remove") return <RemoveSite site={site} onRemove={() => remove(site)} onClose={close} />;
  return (
    <ActionDialog
      title={translate(`sites.${kind}_title`, { name: site.name })}
      action={translate(`sites.${kind}`)}
      isDangerous={kind === "suspend"}
      onConfirm={() => change(site, { isSuspended: kind === "suspend" })}
      onClose={close}
    >
      <Typography>{translate(`sites.${kind}_explain`)}</Typography>
    </ActionDialog>
  );
}

/** Returns the functions that change sites. If the shown site is renamed or removed, also with its live site, they change the address to an existing site. */
function useActionsWithNavigation() {
  const { add, change, remove } = useSiteActions();
  const shown = useSiteInfo();
  const { sites } = useDeclared();
  const navigate = useNavigate();
  return {
    add,
    async change(site: SiteInfo, values: SiteBody) {
      await change(site.name, values);
      if (!values.name || values.name === site.name || !isPartOf(shown, site)) return;
      // The change is stored. Otherwise the console would ask before it leaves the form.
      markAllSaved();
      // A sandbox is renamed with its live site (contract section 1).
      navigate(`/${values.name}${shown.id === site.id ? "" : "-sandbox"}/sites`, { replace: true });
    },
    async remove(site: SiteInfo) {
      await remove(site.name);
      const other = sites.find((one) => !isPartOf(one, site));
      if (isPartOf(shown, site)) navigate(other ? `/${other.name}/sites` : "/", { replace: true });
    },
  };
}

/** Whether a site is `site` or its sandbox. */
function isPartOf({ id, sandboxOf }: SiteInfo, site: SiteInfo): boolean {
  return id === site.id || sandboxOf === site.id;
}

interface RemoveSiteProps {
  readonly site: SiteInfo;
  readonly onRemove: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** The dialog that lists what the removal of a site deletes, and removes the site after its name was typed. */
function RemoveSite({ site, onRemove, onClose }: RemoveSiteProps) {
  const { resources, sites } = useDeclared();
  const { name } = site;
  const sandbox = findSandboxOf(sites, site);
  const { data: contents, error, refetch } = useSiteContents(name);
  const [typed, setTyped] = useState("");
  const records = resources.map(({ path, singular, plural }) => {
    const count = contents?.records[path] ?? 0;
    return translate("sites.remove_records", { count: toNumber(count), what: count === 1 ? singular : plural });
  });
  const lines = contents && [
    ...records,
    translate("sites.remove_keys", { smart_count: contents.keys }),
    translate("sites.remove_webhooks", { smart_count: contents.webhooks }),
    ...(sandbox ? [translate("sites.remove_sandbox", { name: sandbox.name })] : []),
  ];
  return (
    <ActionDialog
      title={translate("sites.remove_title", { name })}
      action={translate("sites.remove")}
      isDangerous
      isDisabled={!contents || typed !== name}
      onConfirm={onRemove}
      onClose={onClose}
    >
      {error && <ReadFailed error={error} onRetry={refetch} />}
      <Typography>{translate("sites.remove_explain")}</Typography>
      <Box component="ul" sx={{ m: 0 }}>
        {lines?.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </Box>
      <Typography>{translate("sites.remove_final")}</Typography>
      <TextField
        autoFocus
        label={translate("sites.remove_name", { name })}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        slotProps={{ htmlInput: { autoCapitalize: "none", spellCheck: false, autoComplete: "off" } }}
      />
    </ActionDialog>
  );
}
