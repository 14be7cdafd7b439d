import { TextField } from "@mui/material";
import { useTranslate } from "react-admin";
import { useSearchParams } from "react-router-dom";
import { useDeclared } from "../site-context.ts";

/** The path of the resource that is chosen at first: the one in the address of the page, or the first. */
export function useFirstResource(): string {
  const { resources } = useDeclared();
  const [search] = useSearchParams();
  const wanted = search.get("resource");
  return (resources.find(({ path }) => path === wanted) ?? resources[0])?.path ?? "";
}

interface ResourceChoiceProps {
  /** A path. */
  readonly value: string;
  readonly onChange: (path: string) => void;
}

/** The kind of records that a file has. */
export function ResourceChoice({ value, onChange }: ResourceChoiceProps) {
  const translate = useTranslate();
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
