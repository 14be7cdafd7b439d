// The dialogs of the page of operators: adding an operator, changing what an operator may do and where, and removing an operator.

import {
  Alert,
  Autocomplete,
  Box,
  FormControl,
  FormControlLabel,
  FormLabel,
  Radio,
  RadioGroup,
  TextField,
  Typography,
} from "@mui/material";
import { useState } from "react";
import type { NewOperatorBody, OperatorBody, OperatorInfo, RoleInfo } from "../../admin/api/types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { TextInput } from "../shell/fields.tsx";
import { useDeclared, useSession } from "../shell/site-context.ts";
import { useEdited } from "../shell/unsaved.ts";
import { translate } from "../text/translate.ts";

interface AddOperatorProps {
  readonly onSubmit: (added: NewOperatorBody) => Promise<unknown>;
  readonly onClose: () => void;
}

export function AddOperator({ onSubmit, onClose }: AddOperatorProps) {
  const [name, setName] = useState("");
  const [access, setAccess] = useState<Access>({ role: "all", isForAll: false, sites: [] });
  const sites = sitesOf(access);
  return (
    <ActionDialog
      title={translate("operators.add")}
      action={translate("general.add")}
      isEdited={useEdited([name, access])}
      isDisabled={sites?.length === 0}
      onConfirm={() => onSubmit({ name: name.trim(), sites, role: access.role as RoleInfo })}
      onClose={onClose}
    >
      <TextInput
        autoFocus
        required
        label={translate("operators.name")}
        helperText={translate("operators.name_help")}
        value={name}
        onChange={setName}
        input={{ maxLength: 64, autoComplete: "off" }}
      />
      <AccessChoice value={access} onChange={setAccess} />
    </ActionDialog>
  );
}

interface ChangeOperatorProps {
  readonly operator: OperatorInfo;
  /** Whether nobody else may do everything in all sites. */
  readonly isLast: boolean;
  readonly onSubmit: (access: Pick<OperatorBody, "sites" | "role">) => Promise<unknown>;
  readonly onClose: () => void;
}

/** The dialog that changes what an operator may do, and in which sites. */
export function ChangeOperator({ operator, isLast, onSubmit, onClose }: ChangeOperatorProps) {
  const { operator: own } = useSession();
  const { name, role: before } = operator;
  const [access, setAccess] = useState<Access>({
    role: before,
    isForAll: operator.sites === null,
    sites: operator.sites ?? [],
  });
  const sites = sitesOf(access);
  const { role } = access;
  const isLimited = (operator.sites === null && sites !== null) || (before === "all" && role !== "all");
  return (
    <ActionDialog
      title={translate("operators.edit_title", { name })}
      action={translate(isLimited && isLast ? "operators.limit_last_confirm" : "general.save")}
      isDangerous={isLimited}
      isEdited={useEdited(access)}
      isDisabled={sites?.length === 0}
      onConfirm={() => onSubmit({ sites, ...(role !== before && role !== "unknown" && { role }) })}
      onClose={onClose}
    >
      <AccessChoice value={access} onChange={setAccess} />
      <Typography color="textSecondary" variant="body2">
        {translate("operators.edit_explain", { name })}
      </Typography>
      {isLimited && name === own && <Alert severity="warning">{translate("operators.limit_self")}</Alert>}
      {isLimited && isLast && <Alert severity="error">{translate("operators.remove_last", { name })}</Alert>}
    </ActionDialog>
  );
}

interface RemoveOperatorProps {
  readonly operator: OperatorInfo;
  /** Whether this is the last operator of all sites. */
  readonly isLast: boolean;
  readonly onRemove: () => Promise<unknown>;
  readonly onClose: () => void;
}

export function RemoveOperator({ operator: { name }, isLast, onRemove, onClose }: RemoveOperatorProps) {
  const { operator: own } = useSession();
  return (
    <ActionDialog
      title={translate("operators.remove_title", { name })}
      action={translate(isLast ? "operators.remove_last_confirm" : "operators.remove")}
      isDangerous
      onConfirm={onRemove}
      onClose={onClose}
    >
      <Typography>{translate("operators.remove_explain", { name })}</Typography>
      {name === own && <Alert severity="warning">{translate("operators.remove_self")}</Alert>}
      {isLast && <Alert severity="error">{translate("operators.remove_last", { name })}</Alert>}
    </ActionDialog>
  );
}

/** The role of an operator, and the sites in which it applies. */
interface Access {
  readonly role: OperatorInfo["role"];
  readonly isForAll: boolean;
  /** Names of the chosen sites. They are kept while `isForAll` is true. */
  readonly sites: readonly string[];
}

/** Converts the choice to the form of the API: null for all sites. */
function sitesOf({ isForAll, sites }: Access): readonly string[] | null {
  return isForAll ? null : sites;
}

/** Maximum number of options that the list shows at once. */
const maxOptions = 50;

const roles: readonly RoleInfo[] = ["all", "records", "read"];

interface AccessChoiceProps {
  readonly value: Access;
  readonly onChange: (value: Access) => void;
}

/** The choice of a role, and of live sites. An operator of a live site may also manage its sandbox. */
function AccessChoice({ value, onChange }: AccessChoiceProps) {
  const { sites: known } = useDeclared();
  const { isForAll, sites, role } = value;
  return (
    <>
      <FormControl component="fieldset">
        <FormLabel component="legend">{translate("operators.role")}</FormLabel>
        <RadioGroup
          value={role}
          onChange={({ target }) => onChange({ ...value, role: target.value as RoleInfo })}
          sx={{ gap: 0.5, "& .MuiFormControlLabel-root": { alignItems: "flex-start" } }}
        >
          {roles.map((one) => (
            <FormControlLabel key={one} value={one} control={<Radio size="small" />} label={<RoleLabel role={one} />} />
          ))}
        </RadioGroup>
      </FormControl>
      <FormControl component="fieldset">
        <FormLabel component="legend">{translate("operators.where")}</FormLabel>
        <RadioGroup
          value={isForAll ? "all" : "some"}
          onChange={({ target }) => onChange({ ...value, isForAll: target.value === "all" })}
        >
          <FormControlLabel value="some" control={<Radio size="small" />} label={translate("operators.some_sites")} />
          <FormControlLabel
            value="all"
            control={<Radio size="small" />}
            label={translate(`operators.every_site_${role === "all" ? "all" : "other"}`)}
          />
        </RadioGroup>
      </FormControl>
      {!isForAll && (
        <Autocomplete
          multiple
          disableCloseOnSelect
          options={known.filter(({ sandboxOf }) => sandboxOf === null).map((site) => site.name)}
          value={[...sites]}
          onChange={(_event, chosen) => onChange({ ...value, sites: chosen })}
          filterOptions={(options, { inputValue }) =>
            options.filter((option) => option.includes(inputValue.trim().toLowerCase())).slice(0, maxOptions)
          }
          renderInput={(parameters) => <TextField {...parameters} label={translate("operators.sites")} />}
        />
      )}
    </>
  );
}

/** The name of a role, and what it is for. */
function RoleLabel({ role }: { readonly role: RoleInfo }) {
  return (
    <Box component="span" sx={{ display: "block", pt: "7px" }}>
      {translate(`roles.${role}`)}
      <Typography component="span" variant="body2" color="textSecondary" sx={{ display: "block" }}>
        {translate(`roles.${role}_help`)}
      </Typography>
    </Box>
  );
}
