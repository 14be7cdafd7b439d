import { Stack, Typography } from "@mui/material";
import { regex, required, TextInput, useTranslate } from "react-admin";
import { type FieldDeclaration, groupOf, labelOf, type ResourceDeclaration } from "../declarations.ts";

/** The inputs for the fields of a record, group by group. */
export function RecordFields({ resource }: { readonly resource: ResourceDeclaration }) {
  const groups = [...new Set(resource.fields.map(({ path }) => groupOf(path)))];
  return groups.map((group) => (
    <Stack key={group} component="fieldset" sx={{ width: "100%", border: 0, m: 0, p: 0 }}>
      {group && (
        <Typography component="legend" variant="subtitle2" sx={{ mt: 2, mb: 1, p: 0 }}>
          {labelOf(group)}
        </Typography>
      )}
      {resource.fields
        .filter(({ path }) => groupOf(path) === group)
        .map((field) => (
          <FieldInput key={field.path} field={field} />
        ))}
    </Stack>
  ));
}

const asTyped = (text: string) => text;

function FieldInput({ field }: { readonly field: FieldDeclaration }) {
  const translate = useTranslate();
  const { path, required: isRequired, max, pattern } = field;
  // What the declaration asks of a value. The server checks it again, and everything else.
  const checks = [
    ...(isRequired ? [required()] : []),
    (value: string | undefined) =>
      [...(value ?? "")].length > max ? translate("record.too_long", { max }) : undefined,
    ...(pattern ? [regex(new RegExp(pattern.source, "u"), pattern.fault)] : []),
  ];
  return (
    <TextInput
      source={path}
      label={labelOf(path)}
      validate={checks}
      helperText={false}
      defaultValue=""
      // An input that was emptied is as one that was empty, for which react-admin would have null.
      parse={asTyped}
      fullWidth
    />
  );
}
