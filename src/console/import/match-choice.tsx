import { TextField } from "@mui/material";
import { useTranslate } from "react-admin";
import type { ImportMapping, ResourceInfo } from "../../admin/api/types.ts";
import { fullLabelOf } from "../api/declarations.ts";

interface MatchChoiceProps {
  readonly resource: ResourceInfo;
  /** Undefined for a format without columns (JSON, XML). */
  readonly mapping: ImportMapping | undefined;
  /** The path of a field. */
  readonly value: string;
  readonly onChange: (path: string) => void;
}

/** Chooses the match field: a row changes the record with the same value in this field. */
export function MatchChoice({ resource, mapping, value, onChange }: MatchChoiceProps) {
  const translate = useTranslate();
  const isThere = (path: string) => !mapping || path in mapping.fields;
  const paths = resource.fields.map(({ path }) => path).filter(isThere);
  const isKnown = value === "ID" || paths.includes(value);
  return (
    <TextField
      select
      size="small"
      label={translate("import.match")}
      value={isKnown ? value : "ID"}
      onChange={({ target }) => onChange(target.value)}
      slotProps={{ select: { native: true } }}
      sx={{ maxWidth: 420, m: 0 }}
    >
      <option value="ID">{translate(isThere("ID") ? "import.match_id" : "import.match_none")}</option>
      {paths.map((path) => (
        <option key={path} value={path}>
          {fullLabelOf(path)}
        </option>
      ))}
    </TextField>
  );
}
