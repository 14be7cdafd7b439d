// The page of the webhooks of a site: their cards, and the dialog that is open over them.

import { Stack, Typography } from "@mui/material";
import { useState } from "react";
import type { ListedWebhookInfo } from "../../admin/api/types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { WebhookIcon } from "../shell/icons.tsx";
import { showSecret } from "../shell/new-secret.tsx";
import { notify } from "../shell/notices.tsx";
import { Page } from "../shell/page.tsx";
import { EmptyList, QueryResult } from "../shell/query-result.tsx";
import { LookOnly, NewButton } from "../shell/role-notice.tsx";
import { toNumber } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { WebhookCard, type WebhookTask } from "./webhook-card.tsx";
import { AddWebhook, ChangeUrl, RewindWebhook } from "./webhook-dialogs.tsx";
import { useWebhookActions, useWebhooks } from "./webhooks.ts";

/** The dialog that is open over the list. */
type OpenWebhook =
  | { readonly kind: "add" }
  | { readonly kind: "change" | "rewind" | "rotate" | "remove"; readonly webhook: ListedWebhookInfo };

/** The page with the webhooks of the site. */
export function WebhooksPage() {
  const query = useWebhooks();
  const [open, setOpen] = useState<OpenWebhook>();
  const onTask = useTasks(setOpen);
  const add = <NewButton text={translate("webhooks.add")} onClick={() => setOpen({ kind: "add" })} />;
  return (
    <Page title={translate("webhooks.title")} explain={translate("webhooks.explain")} actions={add}>
      <LookOnly right="settings" />
      <QueryResult query={query}>
        {(webhooks) =>
          webhooks.length === 0 ? (
            <EmptyList
              icon={WebhookIcon}
              title={translate("webhooks.none")}
              explain={translate("webhooks.none_explain")}
            />
          ) : (
            <Stack spacing={2}>
              {webhooks.map((webhook) => (
                <WebhookCard key={webhook.id} webhook={webhook} onTask={(task) => onTask(webhook, task)} />
              ))}
            </Stack>
          )
        }
      </QueryResult>
      {open && <OpenDialog open={open} onClose={() => setOpen(undefined)} />}
    </Page>
  );
}

/** Returns a function that executes an action at once, or opens its dialog if it needs a confirmation. */
function useTasks(onOpen: (open: OpenWebhook) => void) {
  const actions = useWebhookActions();
  return async (webhook: ListedWebhookInfo, task: WebhookTask) => {
    const { id } = webhook;
    if (task === "change" || task === "rewind" || task === "rotate" || task === "remove")
      return onOpen({ kind: task, webhook });
    try {
      if (task !== "test") return void (await actions[task](id));
      const { status, fault } = await actions.test(id);
      if (fault) notify(translate("webhooks.test_bad", { fault }), "error");
      else notify(translate("webhooks.test_good", { status: status ?? "" }), "success");
    } catch (error) {
      notify((error as Error).message, "error");
    }
  };
}

interface OpenDialogProps {
  readonly open: OpenWebhook;
  readonly onClose: () => void;
}

function OpenDialog({ open, onClose }: OpenDialogProps) {
  const actions = useWebhookActions();
  const show = async (made: Promise<{ readonly secret: string; readonly isResolved?: boolean }>) => {
    const { secret, isResolved = true } = await made;
    if (!isResolved) notify(translate("webhooks.unresolved"), "warning");
    const name = translate("webhooks.secret");
    showSecret({ title: name, explain: translate("webhooks.shown_once"), secrets: { [name]: secret } });
  };
  if (open.kind === "add")
    return <AddWebhook onAdd={(url, resources) => show(actions.add({ url, resources }))} onClose={onClose} />;
  const { id, url, behind } = open.webhook;
  if (open.kind === "change") {
    const change = async (changed: string) => {
      const { isResolved } = await actions.change(id, changed);
      notify(translate(isResolved ? "webhooks.changed" : "webhooks.unresolved"), isResolved ? "success" : "warning");
    };
    return <ChangeUrl url={url} onChange={change} onClose={onClose} />;
  }
  if (open.kind === "rewind") return <RewindWebhook onRewind={(time) => actions.rewind(id, time)} onClose={onClose} />;
  const confirm = open.kind === "rotate" ? () => show(actions.rotate(id)) : () => actions.remove(id);
  return (
    <ActionDialog
      title={translate(`webhooks.${open.kind}_title`)}
      action={translate(`webhooks.${open.kind}`)}
      isDangerous={open.kind === "remove"}
      onConfirm={confirm}
      onClose={onClose}
    >
      <Typography sx={{ fontWeight: 600, overflowWrap: "anywhere" }}>{url}</Typography>
      <Typography>{translate(`webhooks.${open.kind}_explain`)}</Typography>
      {open.kind === "remove" && Number(behind) > 0 && (
        <Typography>
          {translate("webhooks.remove_behind", { smart_count: Number(behind), count: toNumber(Number(behind)) })}
        </Typography>
      )}
    </ActionDialog>
  );
}
