// A site's webhooks, each on a card, and the dialogs over them.

import {
  Checkbox,
  FormControl,
  FormControlLabel,
  FormGroup,
  FormHelperText,
  FormLabel,
  Stack,
  Typography,
} from "@mui/material";
import { useState } from "react";
import type { ListedWebhookInfo } from "../../admin/api/types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { TextInput } from "../shell/fields.tsx";
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

interface AddWebhookProps {
  readonly onAdd: (url: string, resources: readonly string[]) => Promise<unknown>;
  readonly onClose: () => void;
}

function AddWebhook({ onAdd, onClose }: AddWebhookProps) {
  const { resources } = useDeclared();
  const [url, setUrl] = useState("https://");
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const toggle = (path: string) =>
    setChosen(chosen.includes(path) ? chosen.filter((one) => one !== path) : [...chosen, path]);
  return (
    <ActionDialog
      title={translate("webhooks.add")}
      action={translate("general.add")}
      isEdited={useEdited([url, chosen])}
      onConfirm={() => onAdd(url, chosen)}
      onClose={onClose}
    >
      <UrlField value={url} onChange={setUrl} />
      <FormControl component="fieldset">
        <FormLabel component="legend">{translate("webhooks.resources")}</FormLabel>
        <FormGroup>
          {resources.map(({ path, plural }) => (
            <FormControlLabel
              key={path}
              label={capitalize(plural)}
              control={<Checkbox checked={chosen.includes(path)} onChange={() => toggle(path)} />}
            />
          ))}
        </FormGroup>
        <FormHelperText sx={{ mx: 0 }}>{translate("webhooks.resources_help")}</FormHelperText>
      </FormControl>
    </ActionDialog>
  );
}

interface UrlFieldProps {
  readonly value: string;
  readonly onChange: (url: string) => void;
}

function UrlField({ value, onChange }: UrlFieldProps) {
  return (
    <TextInput
      autoFocus
      required
      type="url"
      label={translate("webhooks.url")}
      helperText={translate("webhooks.url_help")}
      value={value}
      onChange={onChange}
    />
  );
}

interface ChangeUrlProps {
  /** The current URL. */
  readonly url: string;
  readonly onChange: (url: string) => Promise<unknown>;
  readonly onClose: () => void;
}

function ChangeUrl({ url, onChange, onClose }: ChangeUrlProps) {
  const [changed, setChanged] = useState(url);
  return (
    <ActionDialog
      title={translate("webhooks.change")}
      action={translate("general.save")}
      isDisabled={changed === url}
      isEdited={useEdited(changed)}
      onConfirm={() => onChange(changed)}
      onClose={onClose}
    >
      <Typography>{translate("webhooks.change_explain")}</Typography>
      <UrlField value={changed} onChange={setChanged} />
    </ActionDialog>
  );
}

interface RewindProps {
  readonly onRewind: (time: string) => Promise<unknown>;
  readonly onClose: () => void;
}

/** Asks for a time. All changes since then are sent again. */
function RewindWebhook({ onRewind, onClose }: RewindProps) {
  const [since, setSince] = useState(() => toLocal(serverNow() - 3_600_000));
  return (
    <ActionDialog
      title={translate("webhooks.rewind_title")}
      action={translate("webhooks.rewind")}
      isEdited={useEdited(since)}
      onConfirm={() => onRewind(new Date(since).toISOString())}
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
