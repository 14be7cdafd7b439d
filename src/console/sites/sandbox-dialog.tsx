// The dialog that makes the sandbox of a site, or renews it.

import { Typography } from "@mui/material";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router-dom";
import type { SiteInfo } from "../../admin/api/types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { useNotify } from "../shell/notices.tsx";
import { findLive } from "../shell/sandboxes.ts";
import { useShown } from "../shell/shown.ts";
import { useDeclared } from "../shell/site-context.ts";
import { toNumber } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { useSiteActions } from "./sites.ts";

interface SandboxDialogProps {
  /** The live site; to renew its sandbox, the sandbox. */
  readonly site: SiteInfo;
  readonly kind: "sandbox" | "renew";
  readonly onClose: () => void;
}

/** Makes or renews a sandbox. The copy of many records takes long, so the dialog can be closed meanwhile: then a notification tells the result. */
export function SandboxDialog({ site, kind, onClose }: SandboxDialogProps) {
  const notify = useNotify();
  const navigate = useNavigate();
  const isShown = useShown();
  const queryClient = useQueryClient();
  const { renewSandbox } = useSiteActions();
  const { name } = findLive(useDeclared().sites, site) ?? site;

  async function confirm() {
    try {
      const made = await renewSandbox(name);
      // The shown site may be the sandbox: forget its former records.
      await queryClient.resetQueries();
      // Show the keys of a new sandbox, because a program needs one.
      if (made.isNew && isShown()) navigate(`/${made.site.name}/keys`);
      else notify(translate("sites.sandbox_made", { name, count: toNumber(made.records) }), "success");
    } catch (error) {
      if (isShown()) throw error;
      notify((error as Error).message, "error");
    }
  }

  return (
    <ActionDialog
      title={translate(`sites.${kind}_title`, { name })}
      action={translate(kind === "renew" ? "sites.renew" : "general.create")}
      busyText={translate("sites.copying")}
      onConfirm={confirm}
      onClose={onClose}
    >
      <Typography>{translate(`sites.${kind}_explain`)}</Typography>
    </ActionDialog>
  );
}
