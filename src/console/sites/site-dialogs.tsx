// The dialogs of the page of sites: adding, changing, suspending, resuming and removing a site.

import { Box, TextField, Typography } from "@mui/material";
import { useState } from "react";
import { useNavigate } from "react-router-dom";
import type { NewSiteBody, SiteBody, SiteInfo } from "../../admin/api/types.ts";
import { Confirm } from "../shell/confirm.tsx";
import { NewSecret } from "../shell/new-secret.tsx";
import { ReadFailed } from "../shell/query-result.tsx";
import { useDeclared, useSiteName } from "../shell/site-context.ts";
import { toNumber } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { AddSite, ChangeSite } from "./site-form.tsx";
import { useSiteActions, useSiteContents } from "./sites.ts";

/** The dialog that is open over the list of sites. */
export type OpenSite =
  | { readonly kind: "new" }
  | { readonly kind: "edit" | "suspend" | "resume" | "sandbox" | "remove"; readonly site: SiteInfo }
  | { readonly kind: "secret"; readonly name: string; readonly secret: string };

interface SiteDialogsProps {
  readonly open: OpenSite | undefined;
  readonly onOpen: (open: OpenSite | undefined) => void;
  readonly isForAll: boolean;
}

export function SiteDialogs({ open, onOpen, isForAll }: SiteDialogsProps) {
  const { add, change, remove, renewSandbox } = useActionsWithNavigation();
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
    return (
      <ChangeSite site={site} hasDefault={isForAll} onSubmit={(values) => change(site.name, values)} onClose={close} />
    );
  if (kind === "sandbox") return <SandboxOfSite site={site} onConfirm={renewSandbox} onClose={close} />;
  if (kind === "remove") return <RemoveSite name={site.name} onRemove={() => remove(site.name)} onClose={close} />;
  return (
    <Confirm
      title={translate(`sites.${kind}_title`, { name: site.name })}
      action={translate(`sites.${kind}`)}
      isDangerous={kind === "suspend"}
      onConfirm={() => change(site.name, { isSuspended: kind === "suspend" })}
      onClose={close}
    >
      <Typography>{translate(`sites.${kind}_explain`)}</Typography>
    </Confirm>
  );
}

/** Returns the functions that change sites. If the shown site is renamed or removed, they also change the address to an existing site. */
function useActionsWithNavigation() {
  const { add, change, remove, renewSandbox } = useSiteActions();
  const shown = useSiteName();
  const { sites } = useDeclared();
  const navigate = useNavigate();
  return {
    add,
    async change(name: string, values: SiteBody) {
      await change(name, values);
      if (name === shown && values.name && values.name !== name) navigate(`/${values.name}/sites`, { replace: true });
    },
    /** Makes or renews the sandbox of a site, and shows its keys: a program needs one. */
    async renewSandbox(name: string) {
      const { site } = await renewSandbox(name);
      navigate(`/${site.name}/keys`);
    },
    async remove(name: string) {
      await remove(name);
      const other = sites.find((site) => site.name !== name);
      if (name === shown) navigate(other ? `/${other.name}/sites` : "/", { replace: true });
    },
  };
}

interface SandboxOfSiteProps {
  /** The live site, or its sandbox. */
  readonly site: SiteInfo;
  /** @param name of the live site */
  readonly onConfirm: (name: string) => Promise<unknown>;
  readonly onClose: () => void;
}

/** The dialog that makes the sandbox of a site, or renews it. */
function SandboxOfSite({ site, onConfirm, onClose }: SandboxOfSiteProps) {
  const { sites } = useDeclared();
  const live = sites.find(({ id }) => id === site.sandboxOf) ?? site;
  const action = sites.some(({ sandboxOf }) => sandboxOf === live.id) ? "sandbox_renew" : "sandbox_make";
  return (
    <Confirm
      title={translate("sites.sandbox_title", { name: live.name })}
      action={translate(`sites.${action}`)}
      onConfirm={() => onConfirm(live.name)}
      onClose={onClose}
    >
      <Typography>{translate(`sites.${action}_explain`)}</Typography>
    </Confirm>
  );
}

interface RemoveSiteProps {
  readonly name: string;
  readonly onRemove: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** The dialog that lists what the removal of a site deletes, and removes the site after its name was typed. */
function RemoveSite({ name, onRemove, onClose }: RemoveSiteProps) {
  const { resources } = useDeclared();
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
  ];
  return (
    <Confirm
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
    </Confirm>
  );
}
