// The dialogs that add, edit, suspend, resume and remove sites, and create or refresh sandboxes.

import { Box, Typography } from "@mui/material";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { NewSiteBody, SandboxResponse, SiteBody, SiteInfo, SiteSummaryResponse } from "../../admin/api/types.ts";
import { callApi, sitePath } from "../api/call-api.ts";
import { ActionDialog, useIsMounted } from "../shell/action-dialog.tsx";
import { TextInput } from "../shell/fields.tsx";
import { notify } from "../shell/notices.tsx";
import { ReadFailed } from "../shell/query-result.tsx";
import { navigate } from "../shell/router.tsx";
import { findLive, findSandboxOf, useDeclared, useReload, useSiteInfo } from "../shell/site-context.ts";
import { useRead } from "../shell/site-data.ts";
import { toNumber } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { AddSite, addSite, ChangeSite, showKey } from "./site-form.tsx";

export type SiteTask = "edit" | "suspend" | "resume" | "sandbox" | "renew" | "remove";

export type OpenSite = { readonly kind: "new" } | { readonly kind: SiteTask; readonly site: SiteInfo };

interface SiteDialogsProps {
  readonly open: OpenSite;
  readonly onClose: () => void;
  readonly isForAll: boolean;
}

export function SiteDialogs({ open, onClose, isForAll }: SiteDialogsProps) {
  const { add, change } = useSiteActions();
  if (open.kind === "new") return <AddSite onSubmit={async (site) => showKey(await add(site))} onClose={onClose} />;
  const { site, kind } = open;
  if (kind === "edit")
    return (
      <ChangeSite site={site} hasDefault={isForAll} onSubmit={(values) => change(site, values)} onClose={onClose} />
    );
  if (kind === "sandbox" || kind === "renew") return <SandboxDialog site={site} kind={kind} onClose={onClose} />;
  if (kind === "remove") return <RemoveSite site={site} onClose={onClose} />;
  return <SuspendSite site={site} kind={kind} onClose={onClose} />;
}

/**
 * Returns the functions that change sites. They don't wait until the list of sites has been reloaded, so that dialogs close as soon as the change is
 * stored. If the current site is renamed or removed, perhaps along with its live site, the page then goes to an address that exists.
 */
function useSiteActions() {
  const reload = useReload();
  const shown = useSiteInfo();
  const { sites } = useDeclared();
  /** @param path where to go once the sites have been reloaded; undefined to stay */
  const finish = (path?: string, replace = true) =>
    void reload().then(
      () => path !== undefined && navigate(path, { replace }),
      (error: Error) => notify(error.message, "error"),
    );
  return {
    async add(site: NewSiteBody) {
      const added = await addSite(site);
      finish();
      return added;
    },
    /** @param isOpen whether to go to the keys of a new sandbox */
    async renewSandbox(name: string, isOpen: () => boolean) {
      const made = await callApi<SandboxResponse>("POST", `${sitePath(name)}/sandbox`, {});
      const toKeys = made.isNew && isOpen();
      finish(toKeys ? `/${made.site.name}/keys` : undefined, false);
      return { ...made, toKeys };
    },
    async change(site: SiteInfo, values: SiteBody) {
      await callApi("PATCH", sitePath(site.name), values);
      const isRenamed = values.name && values.name !== site.name && isPartOf(shown, site);
      // A sandbox is renamed with its live site (contract section 1).
      finish(isRenamed ? `/${values.name}${shown.id === site.id ? "" : "-sandbox"}/sites` : undefined);
    },
    async remove(site: SiteInfo) {
      await callApi("DELETE", sitePath(site.name), { name: site.name });
      const other = sites.find((one) => !isPartOf(one, site));
      finish(isPartOf(shown, site) ? (other ? `/${other.name}/sites` : "/") : undefined);
    },
  };
}

function useSiteContents(name: string) {
  return useRead<SiteSummaryResponse>(sitePath(name), { staleTime: 0 });
}

/** Whether a site is `site` or its sandbox. */
function isPartOf({ id, sandboxOf }: SiteInfo, site: SiteInfo): boolean {
  return id === site.id || sandboxOf === site.id;
}

interface SiteDialogProps<Kind = SiteTask> {
  readonly site: SiteInfo;
  readonly kind: Kind;
  readonly onClose: () => void;
}

/** Says how many keys and webhooks stop working while a site is suspended. */
function SuspendSite({ site, kind, onClose }: SiteDialogProps<"suspend" | "resume">) {
  const { name } = site;
  const { change } = useSiteActions();
  const { data: contents } = useSiteContents(name);
  return (
    <ActionDialog
      title={translate(`sites.${kind}_title`, { name })}
      action={translate(`sites.${kind}`)}
      onConfirm={() => change(site, { isSuspended: kind === "suspend" })}
      onClose={onClose}
    >
      <Typography>{translate(`sites.${kind}_explain`)}</Typography>
      {contents && kind === "suspend" && (
        <Lines
          lines={[
            contents.validKeys > 0 && translate("sites.suspend_keys", { smart_count: contents.validKeys }),
            contents.webhooks > 0 && translate("sites.suspend_webhooks", { smart_count: contents.webhooks }),
          ]}
        />
      )}
    </ActionDialog>
  );
}

function Lines({ lines }: { readonly lines: readonly (string | false | undefined)[] }) {
  const shown = lines.filter(Boolean);
  if (shown.length === 0) return null;
  return (
    <Box component="ul" sx={{ m: 0 }}>
      {shown.map((line) => (
        <li key={`${line}`}>{line}</li>
      ))}
    </Box>
  );
}

/** Lists what removing a site deletes, and removes it once its name has been typed. */
function RemoveSite({ site, onClose }: Omit<SiteDialogProps, "kind">) {
  const { remove } = useSiteActions();
  const { resources, sites } = useDeclared();
  const { name } = site;
  const sandbox = findSandboxOf(sites, site);
  const { data: contents, error, refetch } = useSiteContents(name);
  const [typed, setTyped] = useState("");
  const records = resources.map(({ path, singular, plural }) => {
    const count = contents?.records[path] ?? 0;
    const what = count === 1 ? singular : plural;
    return count > 0 && translate("sites.remove_records", { count: toNumber(count), what });
  });
  const lines = [
    ...records,
    contents && contents.keys > 0 && translate("sites.remove_keys", { smart_count: contents.keys }),
    contents && contents.webhooks > 0 && translate("sites.remove_webhooks", { smart_count: contents.webhooks }),
    sandbox && translate("sites.remove_sandbox", { name: sandbox.name }),
  ];
  return (
    <ActionDialog
      title={translate("sites.remove_title", { name })}
      action={translate("sites.remove")}
      isDangerous
      isDisabled={!contents || typed !== name}
      onConfirm={() => remove(site)}
      onClose={onClose}
    >
      {error && <ReadFailed error={error} onRetry={refetch} />}
      {contents && (
        <>
          <Typography>{translate(lines.some(Boolean) ? "sites.remove_explain" : "sites.remove_empty")}</Typography>
          <Lines lines={lines} />
        </>
      )}
      <Typography>{translate("sites.remove_final")}</Typography>
      <TextInput
        autoFocus
        label={translate("sites.remove_name", { name })}
        value={typed}
        onChange={setTyped}
        input={{ autoCapitalize: "none", spellCheck: false, autoComplete: "off" }}
      />
    </ActionDialog>
  );
}

/**
 * Creates a live site's sandbox, or refreshes a sandbox. Copying many records takes a while, so the dialog can be closed, and a notice then reports the result.
 */
function SandboxDialog({ site, kind, onClose }: SiteDialogProps<"sandbox" | "renew">) {
  const isMounted = useIsMounted();
  const queryClient = useQueryClient();
  const { renewSandbox } = useSiteActions();
  const { name } = findLive(useDeclared().sites, site) ?? site;
  // What will be copied to a new sandbox, or replaced in an existing one.
  const { data: contents } = useSiteContents(site.name);
  const count = contents && Object.values(contents.records).reduce((sum, one) => sum + one, 0);

  async function confirm() {
    try {
      // Shows a new sandbox's keys, because an app needs one.
      const made = await renewSandbox(name, isMounted);
      // The current site may be that sandbox: drop its old records.
      void queryClient.resetQueries();
      if (!made.toKeys) notify(translate("sites.sandbox_made", { name, count: toNumber(made.records) }), "success");
    } catch (error) {
      if (isMounted()) throw error;
      notify((error as Error).message, "error");
    }
  }

  return (
    <ActionDialog
      title={translate(`sites.${kind}_title`, { name })}
      action={translate(kind === "renew" ? "sites.renew" : "general.create")}
      isDangerous={kind === "renew"}
      busyText={translate("sites.copying")}
      onConfirm={confirm}
      onClose={onClose}
    >
      <Typography>{translate(`sites.${kind}_explain`)}</Typography>
      {count !== undefined && count > 0 && (
        <Typography>{translate(`sites.${kind}_records`, { smart_count: count, count: toNumber(count) })}</Typography>
      )}
    </ActionDialog>
  );
}
