// The inputs of a record's form, from the declaration of the resource.

import { Box, TextField, Typography } from "@mui/material";
import { memo } from "react";
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

interface RecordFieldsProps {
  readonly resource: ResourceInfo;
  /** The texts of the fields, by path. A field without a text is empty. */
  readonly texts: Readonly<Record<string, string>>;
  /** Why texts are refused, by path. */
  readonly faults: Readonly<Record<string, string>>;
  readonly isReadOnly: boolean;
  /** Always the same function. */
  readonly onChange: (path: string, text: string) => void;
}

/** The inputs for the fields of a record, group by group. */
export function RecordFields({ resource, texts, faults, isReadOnly, onChange }: RecordFieldsProps) {
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
          <FieldInput
            key={field.path}
            field={field}
            text={texts[field.path] ?? ""}
            fault={faults[field.path]}
            isReadOnly={isReadOnly}
            onChange={onChange}
          />
        ))}
    </Box>
  ));
}

interface FieldInputProps extends Pick<RecordFieldsProps, "isReadOnly" | "onChange"> {
  readonly field: FieldInfo;
  readonly text: string;
  readonly fault: string | undefined;
}

const FieldInput = memo(function FieldInput({ field, text, fault, isReadOnly, onChange }: FieldInputProps) {
  const { path, required: isRequired, max } = field;
  const seen = showInvisible(text);
  // The input contains the invisible characters, so the text below it shows them.
  const explained = seen === text ? undefined : translate("record.controls", { text: seen });
  return (
    <TextField
      name={path}
      label={labelOf(path)}
      value={text}
      onChange={({ target }) => onChange(path, target.value)}
      error={fault !== undefined}
      helperText={fault ?? explained}
      fullWidth
      sx={{ gridColumn: groupOf(path) && max <= short ? "auto" : "1 / -1" }}
      slotProps={{
        inputLabel: { required: isRequired },
        htmlInput: { autoComplete: "off", "aria-required": isRequired, readOnly: isReadOnly },
      }}
    />
  );
});
