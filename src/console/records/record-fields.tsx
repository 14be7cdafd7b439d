// The inputs of a record's form, from the declaration of the resource.

import { Box, Typography } from "@mui/material";
import { regex, required, TextInput } from "react-admin";
import { useWatch } from "react-hook-form";
import type { FieldInfo, ResourceInfo } from "../../admin/api/types.ts";
import { groupOf, labelOf } from "../text/fields.ts";
import { showInvisible } from "../text/show-invisible.ts";
import { translate } from "../text/translate.ts";

/** The style of a group of fields: two short fields in a line. */
const groupStyle = {
  width: "100%",
  minWidth: 0,
  border: 0,
  m: 0,
  p: 0,
  display: "grid",
  gridTemplateColumns: "1fr 1fr",
  columnGap: 1.5,
};

/** Maximum length of a short field, in characters. */
const short = 128;

/** The inputs for the fields of a record, group by group. */
export function RecordFields({ resource }: { readonly resource: ResourceInfo }) {
  const groups = [...new Set(resource.fields.map(({ path }) => groupOf(path)))];
  return groups.map((group) => (
    <Box key={group} component="fieldset" sx={groupStyle}>
      {group && (
        <Typography component="legend" variant="subtitle2" sx={{ pt: 2, pb: 0.5, px: 0 }}>
          {labelOf(group)}
        </Typography>
      )}
      {resource.fields
        .filter(({ path }) => groupOf(path) === group)
        .map((field) => (
          <FieldInput key={field.path} field={field} />
        ))}
    </Box>
  ));
}

const asTyped = (text: string) => text;

function FieldInput({ field }: { readonly field: FieldInfo }) {
  const { path, required: isRequired, max, pattern } = field;
  // The rules of the declaration. The server checks them again, with all other rules.
  const checks = [
    ...(isRequired ? [required()] : []),
    (value: string | undefined) =>
      [...(value ?? "")].length > max ? translate("record.too_long", { max }) : undefined,
    ...(pattern ? [regex(new RegExp(pattern.source, "u"), pattern.fault)] : []),
  ];
  const text = String(useWatch({ name: path }) ?? "");
  const seen = showInvisible(text);
  return (
    <TextInput
      source={path}
      label={labelOf(path)}
      validate={checks}
      // The input contains the invisible characters, so the text below it shows them.
      helperText={seen === text ? false : translate("record.controls", { text: seen })}
      defaultValue=""
      // Keep the empty text of an emptied input. Otherwise react-admin would change it to null.
      parse={asTyped}
      fullWidth
      sx={{ gridColumn: groupOf(path) && max <= short ? "auto" : "1 / -1" }}
    />
  );
}
