// The forms for new and existing sites, and the page for an operator who has no site yet.

import { Alert, Button, Stack } from "@mui/material";
import { type FormEvent, useState } from "react";
import type { NewSiteBody, NewSiteResponse, SessionInfo, SiteBody, SiteInfo } from "../../admin/api/types.ts";
import { callApi } from "../api/call-api.ts";
import { Unreachable } from "../frame/access-notices.tsx";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { TextInput, Tick } from "../shell/fields.tsx";
import { SecretDialog, showSecret } from "../shell/new-secret.tsx";
import { PlainPage } from "../shell/page.tsx";
import { useAttempt } from "../shell/site-data.ts";
import { useEdited, useUnsaved } from "../shell/unsaved.ts";
import { translate } from "../text/translate.ts";

interface FieldsProps {
  readonly values: NewSiteText;
  readonly onChange: (values: NewSiteText) => void;
  readonly isNew: boolean;
  /** Whether the operator can choose the default site. */
  readonly hasDefault: boolean;
}

interface NewSiteText extends Required<Omit<NewSiteBody, "hostnames">> {
  readonly hostnames: string;
}

function SiteFields({ values, onChange, isNew, hasDefault }: FieldsProps) {
  const box = (name: "isDefault" | "withKey", label: string) => (
    <Tick label={label} checked={values[name]} onChange={(checked) => onChange({ ...values, [name]: checked })} />
  );
  return (
    <>
      <TextInput
        autoFocus
        required
        label={translate("sites.name")}
        helperText={translate("sites.name_help")}
        value={values.name}
        onChange={(name) => onChange({ ...values, name })}
        input={{ maxLength: 64, autoCapitalize: "none", spellCheck: false }}
      />
      <TextInput
        multiline
        minRows={2}
        maxRows={8}
        label={translate("sites.hostnames")}
        helperText={translate("sites.hostnames_help")}
        value={values.hostnames}
        onChange={(hostnames) => onChange({ ...values, hostnames })}
        input={{ autoCapitalize: "none", spellCheck: false }}
      />
      {hasDefault && box("isDefault", translate("sites.is_default"))}
      {isNew && box("withKey", translate("sites.with_key"))}
    </>
  );
}

/** Hostnames can be separated by line breaks, spaces, commas or semicolons. */
function toNewSite(values: NewSiteText): Required<NewSiteBody> {
  const hostnames = values.hostnames.split(/[\s,;]+/).filter((host) => host !== "");
  return { ...values, name: values.name.trim(), hostnames };
}

export function addSite(site: NewSiteBody): Promise<NewSiteResponse> {
  return callApi("POST", "/sites", site);
}

interface AddSiteProps {
  readonly onSubmit: (site: NewSiteBody) => Promise<unknown>;
  readonly onClose: () => void;
}

export function AddSite({ onSubmit, onClose }: AddSiteProps) {
  const [values, setValues] = useState<NewSiteText>({ name: "", hostnames: "", isDefault: false, withKey: false });
  return (
    <ActionDialog
      title={translate("sites.add")}
      action={translate("general.add")}
      isEdited={useEdited(values)}
      onConfirm={() => onSubmit(toNewSite(values))}
      onClose={onClose}
    >
      <SiteFields values={values} onChange={setValues} isNew hasDefault />
    </ActionDialog>
  );
}

interface ChangeSiteProps {
  readonly site: SiteInfo;
  readonly hasDefault: boolean;
  readonly onSubmit: (change: SiteBody) => Promise<unknown>;
  readonly onClose: () => void;
}

export function ChangeSite({ site, hasDefault, onSubmit, onClose }: ChangeSiteProps) {
  const { name, hostnames, isDefault } = site;
  const [values, setValues] = useState<NewSiteText>({
    name,
    hostnames: hostnames.join("\n"),
    isDefault,
    withKey: false,
  });
  return (
    <ActionDialog
      title={translate("sites.edit_title", { name })}
      action={translate("general.save")}
      isEdited={useEdited(values)}
      onConfirm={() => onSubmit(toChange(site, values))}
      onClose={onClose}
    >
      <SiteFields values={values} onChange={setValues} isNew={false} hasDefault={hasDefault} />
    </ActionDialog>
  );
}

/** Returns only what changed, so that another operator's concurrent changes are kept. */
function toChange(site: SiteInfo, values: NewSiteText): SiteBody {
  const { name, hostnames, isDefault } = toNewSite(values);
  const isSame = hostnames.join(" ") === site.hostnames.join(" ");
  return {
    ...(name === site.name ? {} : { name }),
    ...(isSame ? {} : { hostnames }),
    ...(isDefault === site.isDefault ? {} : { isDefault }),
  };
}

interface FirstSiteProps {
  readonly session: SessionInfo;
  /** Reloads the sites. */
  readonly reload: () => Promise<void>;
}

export function FirstSite({ session, reload }: FirstSiteProps) {
  if (session.sites !== null || !session.rights.includes("settings"))
    return <PlainPage title={translate("app.title")} detail={translate("sites.first_other")} />;
  return (
    <PlainPage title={translate("sites.first_title")} detail={translate("sites.first_explain")}>
      <FirstSiteForm reload={reload} />
      <SecretDialog />
      <Unreachable />
    </PlainPage>
  );
}

function FirstSiteForm({ reload }: Pick<FirstSiteProps, "reload">) {
  const [values, setValues] = useState<NewSiteText>({ name: "", hostnames: "", isDefault: true, withKey: true });
  const { fault, attempt } = useAttempt();
  const markSaved = useUnsaved(useEdited(values));

  async function add() {
    const added = await addSite(toNewSite(values));
    markSaved();
    if (added.key) showKey(added, () => void reload());
    else await reload();
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    void attempt(add);
  }

  return (
    <Stack component="form" onSubmit={submit} spacing={2}>
      <SiteFields values={values} onChange={setValues} isNew hasDefault />
      {fault && <Alert severity="error">{fault}</Alert>}
      <Button type="submit" variant="contained">
        {translate("general.add")}
      </Button>
    </Stack>
  );
}

export function showKey({ key, site }: NewSiteResponse, onDone?: () => void): void {
  if (key === null) return;
  showSecret({
    title: translate("sites.created", { name: site.name }),
    explain: translate("keys.shown_once"),
    secrets: { [translate("keys.key")]: key },
    onDone,
  });
}
