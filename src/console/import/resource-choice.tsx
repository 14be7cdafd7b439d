// The choice of the resource to import or export.

import { TextField } from "@mui/material";
import { useAddress } from "../shell/address.ts";
import { useDeclared } from "../shell/site-context.ts";
import { translate } from "../text/translate.ts";

/** Returns the path of the resource to offer first: the resource in the address of the page, otherwise the first. */
export function useFirstResource(): string {
  const { resources } = useDeclared();
  const [search] = useAddress();
  const wanted = search.get("resource");
  return (resources.find(({ path }) => path === wanted) ?? resources[0])?.path ?? "";
}

interface ResourceChoiceProps {
  /** Path of the chosen resource. */
  readonly value: string;
  readonly onChange: (path: string) => void;
}

/** Chooses the resource of the records in a file. */
export function ResourceChoice({ value, onChange }: ResourceChoiceProps) {
  const { resources } = useDeclared();
  return (
    <TextField
      select
      size="small"
      label={translate("import.resource")}
      value={value}
      onChange={({ target }) => onChange(target.value)}
      slotProps={{ select: { native: true } }}
      sx={{ maxWidth: 280, m: 0 }}
    >
      {resources.map(({ path, plural }) => (
        <option key={path} value={path}>
          {plural}
        </option>
      ))}
    </TextField>
  );
}
