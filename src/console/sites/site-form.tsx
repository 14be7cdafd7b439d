// The forms for a new and an existing site, and the conversion of the typed values.

import { Checkbox, FormControlLabel, TextField } from "@mui/material";
import { useState } from "react";
import type { NewSiteBody, SiteBody, SiteInfo } from "../../admin/api/types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { useEdited } from "../shell/unsaved.ts";
import { translate } from "../text/translate.ts";
import { toHostnames } from "./sites.ts";

interface FieldsProps {
  readonly values: NewSiteText;
  readonly onChange: (values: NewSiteText) => void;
  readonly isNew: boolean;
  /** Whether the operator may choose the default site. */
  readonly hasDefault: boolean;
}

/** The values of the form, as typed. */
export interface NewSiteText extends Required<Omit<NewSiteBody, "hostnames">> {
  readonly hostnames: string;
}

export function SiteFields({ values, onChange, isNew, hasDefault }: FieldsProps) {
  const box = (name: "isDefault" | "withKey", label: string) => (
    <FormControlLabel
      label={label}
      control={
        <Checkbox checked={values[name]} onChange={({ target }) => onChange({ ...values, [name]: target.checked })} />
      }
    />
  );
  return (
    <>
      <TextField
        autoFocus
        required
        label={translate("sites.name")}
        helperText={translate("sites.name_help")}
        value={values.name}
        onChange={({ target }) => onChange({ ...values, name: target.value })}
        slotProps={{ htmlInput: { maxLength: 64, autoCapitalize: "none", spellCheck: false } }}
      />
      <TextField
        multiline
        minRows={2}
        maxRows={8}
        label={translate("sites.hostnames")}
        helperText={translate("sites.hostnames_help")}
        value={values.hostnames}
        onChange={({ target }) => onChange({ ...values, hostnames: target.value })}
        slotProps={{ htmlInput: { autoCapitalize: "none", spellCheck: false } }}
      />
      {hasDefault && box("isDefault", translate("sites.is_default"))}
      {isNew && box("withKey", translate("sites.with_key"))}
    </>
  );
}

export function toNewSite(values: NewSiteText): Required<NewSiteBody> {
  return { ...values, name: values.name.trim(), hostnames: toHostnames(values.hostnames) };
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
      action={translate("general.create")}
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

/** Returns only the changed members, so that changes of another operator at the same time are kept. */
function toChange(site: SiteInfo, values: NewSiteText): SiteBody {
  const { name, hostnames, isDefault } = toNewSite(values);
  const isSame = hostnames.join(" ") === site.hostnames.join(" ");
  return {
    name,
    ...(isSame ? {} : { hostnames }),
    ...(isDefault === site.isDefault ? {} : { isDefault }),
  };
}
