// A site's webhooks, each on a card, and the dialogs over them.

import { Stack, Typography } from "@mui/material";
import { useState } from "react";
import type { ListedWebhookInfo } from "../../admin/api/types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { TextInput, Ticks } from "../shell/fields.tsx";
import { WebhookIcon } from "../shell/icons.tsx";
import { showSecret } from "../shell/new-secret.tsx";
import { notify } from "../shell/notices.tsx";
import { Page } from "../shell/page.tsx";
import { EmptyList, QueryResult } from "../shell/query-result.tsx";
import { NewButton, ViewOnlyNotice } from "../shell/role-notice.tsx";
import { useDeclared } from "../shell/site-context.ts";
import { useEdited } from "../shell/unsaved.ts";
import { capitalize, toNumber } from "../text/locale.ts";
import { serverNow } from "../text/server-time.ts";
import { translate } from "../text/translate.ts";
import { WebhookCard, type WebhookTask } from "./webhook-card.tsx";
import { useWebhookActions, useWebhooks } from "./webhooks.ts";

type OpenWebhook =
  | { readonly kind: "add" }
  | { readonly kind: "change" | "rewind" | "rotate" | "remove"; readonly webhook: ListedWebhookInfo };

export function WebhooksPage() {
  const query = useWebhooks();
  const [open, setOpen] = useState<OpenWebhook>();
  const onTask = useTasks(setOpen);
  const add = <NewButton text={translate("webhooks.add")} onClick={() => setOpen({ kind: "add" })} />;
  return (
    <Page title={translate("webhooks.title")} explain={translate("webhooks.explain")} actions={add}>
      <ViewOnlyNotice right="settings" />
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

/** Returns a function that runs an action, or opens its dialog if it needs confirming. */
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
  if (open.kind === "add") return <AddWebhook onClose={onClose} />;
  const Shown = { change: ChangeUrl, rewind: RewindWebhook, rotate: RotateSecret, remove: RemoveWebhook }[open.kind];
  return <Shown webhook={open.webhook} onClose={onClose} />;
}

/** Shows a new secret once it has been made. */
async function showNew(made: Promise<{ readonly secret: string; readonly isResolved?: boolean }>) {
  const { secret, isResolved = true } = await made;
  if (!isResolved) notify(translate("webhooks.unresolved"), "warning");
  const name = translate("webhooks.secret");
  showSecret({ title: name, explain: translate("webhooks.shown_once"), secrets: { [name]: secret } });
}

function AddWebhook({ onClose }: Pick<OpenDialogProps, "onClose">) {
  const { add } = useWebhookActions();
  const { resources } = useDeclared();
  const [url, setUrl] = useState("https://");
  const [chosen, setChosen] = useState<readonly string[]>(resources.map(({ path }) => path));
  // Without a list, the webhook sends all changes, also those of resources that a later version adds.
  const sent = chosen.length === resources.length ? [] : chosen;
  return (
    <ActionDialog
      title={translate("webhooks.add")}
      action={translate("general.add")}
      isEdited={useEdited([url, chosen])}
      isDisabled={chosen.length === 0}
      onConfirm={() => showNew(add({ url, resources: sent }))}
      onClose={onClose}
    >
      <UrlField value={url} onChange={setUrl} />
      <Ticks
        label={translate("webhooks.resources")}
        options={resources.map(({ path, plural }) => [path, capitalize(plural)])}
        chosen={chosen}
        onChange={setChosen}
      />
    </ActionDialog>
  );
}

interface UrlFieldProps {
  readonly value: string;
  readonly onChange: (url: string) => void;
}

function UrlField(props: UrlFieldProps) {
  const texts = { label: translate("webhooks.url"), helperText: translate("webhooks.url_help") };
  return <TextInput autoFocus required type="url" {...texts} {...props} />;
}

interface WebhookDialogProps extends Pick<OpenDialogProps, "onClose"> {
  readonly webhook: ListedWebhookInfo;
}

function ChangeUrl({ webhook: { id, url }, onClose }: WebhookDialogProps) {
  const { change } = useWebhookActions();
  const [changed, setChanged] = useState(url);
  async function save() {
    const { isResolved } = await change(id, changed);
    notify(translate(isResolved ? "webhooks.changed" : "webhooks.unresolved"), isResolved ? "success" : "warning");
  }
  return (
    <ActionDialog
      title={translate("webhooks.change")}
      action={translate("general.save")}
      isDisabled={changed === url}
      isEdited={useEdited(changed)}
      onConfirm={save}
      onClose={onClose}
    >
      <Typography>{translate("webhooks.change_explain")}</Typography>
      <UrlField value={changed} onChange={setChanged} />
    </ActionDialog>
  );
}

/** Asks for a time. All changes since then are sent again. */
function RewindWebhook({ webhook: { id }, onClose }: WebhookDialogProps) {
  const { rewind } = useWebhookActions();
  const [since, setSince] = useState(() => toLocal(serverNow() - 3_600_000));
  return (
    <ActionDialog
      title={translate("webhooks.rewind_title")}
      action={translate("webhooks.rewind")}
      isEdited={useEdited(since)}
      onConfirm={() => rewind(id, new Date(since).toISOString())}
      onClose={onClose}
    >
      <Typography>{translate("webhooks.rewind_explain")}</Typography>
      <TextInput
        required
        type="datetime-local"
        label={translate("webhooks.rewind_since")}
        value={since}
        onChange={setSince}
      />
    </ActionDialog>
  );
}

function toLocal(at: number): string {
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function RotateSecret({ webhook: { id, url }, onClose }: WebhookDialogProps) {
  const { rotate } = useWebhookActions();
  return (
    <ActionDialog
      title={translate("webhooks.rotate_title")}
      action={translate("webhooks.rotate")}
      onConfirm={() => showNew(rotate(id))}
      onClose={onClose}
    >
      <Typography sx={{ fontWeight: 600, overflowWrap: "anywhere" }}>{url}</Typography>
      <Typography>{translate("webhooks.rotate_explain")}</Typography>
    </ActionDialog>
  );
}

function RemoveWebhook({ webhook: { id, url, behind }, onClose }: WebhookDialogProps) {
  const { remove } = useWebhookActions();
  const count = Number(behind);
  return (
    <ActionDialog
      title={translate("webhooks.remove_title")}
      action={translate("webhooks.remove")}
      isDangerous
      onConfirm={() => remove(id)}
      onClose={onClose}
    >
      <Typography sx={{ fontWeight: 600, overflowWrap: "anywhere" }}>{url}</Typography>
      <Typography>{translate("webhooks.remove_explain")}</Typography>
      {count > 0 && (
        <Typography>{translate("webhooks.remove_behind", { smart_count: count, count: toNumber(count) })}</Typography>
      )}
    </ActionDialog>
  );
}
