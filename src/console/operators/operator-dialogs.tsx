import { Alert, Autocomplete, FormControlLabel, Radio, RadioGroup, TextField, Typography } from "@mui/material";
import { useState } from "react";
import { useTranslate } from "react-admin";
import { Confirm } from "../confirm.tsx";
import { useEdited } from "../shell/unsaved.ts";
import { useDeclared, useSession } from "../site-context.ts";
import type { Operator } from "./operators.ts";

interface AddOperatorProps {
  readonly onSubmit: (name: string, sites: readonly string[] | null) => Promise<unknown>;
  readonly onClose: () => void;
}

export function AddOperator({ onSubmit, onClose }: AddOperatorProps) {
  const translate = useTranslate();
  const { sites: known } = useDeclared();
  const [name, setName] = useState("");
  const [isForAll, setForAll] = useState(false);
  const [sites, setSites] = useState<readonly string[]>([]);
  return (
    <Confirm
      title={translate("operators.add")}
      action={translate("keys.create")}
      isEdited={useEdited([name, isForAll, sites])}
      isDisabled={!isForAll && sites.length === 0}
      onConfirm={() => onSubmit(name.trim(), isForAll ? null : sites)}
      onClose={onClose}
    >
      <TextField
        autoFocus
        required
        label={translate("operators.name")}
        helperText={translate("operators.name_help")}
        value={name}
        onChange={({ target }) => setName(target.value)}
        slotProps={{ htmlInput: { maxLength: 64, autoComplete: "off" } }}
      />
      <RadioGroup
        aria-label={translate("operators.sites")}
        value={isForAll ? "all" : "some"}
        onChange={({ target }) => setForAll(target.value === "all")}
      >
        <FormControlLabel value="some" control={<Radio />} label={translate("operators.some_sites")} />
        <FormControlLabel value="all" control={<Radio />} label={translate("operators.every_site")} />
      </RadioGroup>
      {!isForAll && (
        <Autocomplete
          multiple
          disableCloseOnSelect
          options={known.map((site) => site.name)}
          value={[...sites]}
          onChange={(_event, chosen) => setSites(chosen)}
          filterOptions={(options, { inputValue }) =>
            options.filter((option) => option.includes(inputValue.trim().toLowerCase())).slice(0, 50)
          }
          renderInput={(parameters) => <TextField {...parameters} label={translate("operators.sites")} />}
        />
      )}
    </Confirm>
  );
}

interface RemoveOperatorProps {
  readonly operator: Operator;
  /** Whether no operator of all sites is left then. */
  readonly isLast: boolean;
  readonly onRemove: () => Promise<unknown>;
  readonly onClose: () => void;
}

export function RemoveOperator({ operator: { name }, isLast, onRemove, onClose }: RemoveOperatorProps) {
  const translate = useTranslate();
  const { operator: own } = useSession();
  return (
    <Confirm
      title={translate("operators.remove_title", { name })}
      action={translate(isLast ? "operators.remove_last_confirm" : "operators.remove")}
      isDangerous
      onConfirm={onRemove}
      onClose={onClose}
    >
      <Typography>{translate("operators.remove_explain")}</Typography>
      {name === own && <Alert severity="warning">{translate("operators.remove_self")}</Alert>}
      {isLast && <Alert severity="error">{translate("operators.remove_last", { name })}</Alert>}
    </Confirm>
  );
}
