// The dialogs of the page of webhooks: adding a webhook, and sending changes again.

import {
  Checkbox,
  FormControl,
  FormControlLabel,
  FormGroup,
  FormHelperText,
  FormLabel,
  Typography,
} from "@mui/material";
import { useState } from "react";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { TextInput } from "../shell/fields.tsx";
import { useDeclared } from "../shell/site-context.ts";
import { useEdited } from "../shell/unsaved.ts";
import { capitalized } from "../text/locale.ts";
import { serverNow } from "../text/server-time.ts";
import { translate } from "../text/translate.ts";

interface AddWebhookProps {
  readonly onAdd: (url: string, resources: readonly string[]) => Promise<unknown>;
  readonly onClose: () => void;
}

export function AddWebhook({ onAdd, onClose }: AddWebhookProps) {
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
              label={capitalized(plural)}
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
  /** The present URL. */
  readonly url: string;
  readonly onChange: (url: string) => Promise<unknown>;
  readonly onClose: () => void;
}

/** The dialog that asks for another URL. */
export function ChangeUrl({ url, onChange, onClose }: ChangeUrlProps) {
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

/** The dialog that asks for a time. The changes from this time on are sent again. */
export function RewindWebhook({ onRewind, onClose }: RewindProps) {
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

/** Formats a time for an input of the type `datetime-local`. */
function toLocal(at: number): string {
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
