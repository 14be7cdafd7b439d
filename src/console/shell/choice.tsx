// A filter of a list: chooses one of several values, or any.

import { MenuItem, type SxProps, TextField } from "@mui/material";
import { type TextKey, translate } from "../text/translate.ts";

interface ChoiceProps {
  readonly label: TextKey;
  /** The chosen value; the empty text for any. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** The text that stands for any value. */
  readonly any: TextKey;
  /** Width and margins. */
  readonly sx: SxProps;
  /** The values, and how each is shown. */
  readonly options: readonly (readonly [value: string, text: string])[];
}

/** A field that opens a list of values. */
export function Choice({ label, value, onChange, any, sx, options }: ChoiceProps) {
  return (
    <TextField
      select
      label={translate(label)}
      value={value}
      onChange={({ target }) => onChange(target.value)}
      slotProps={{ select: { displayEmpty: true }, inputLabel: { shrink: true } }}
      sx={sx}
    >
      <MenuItem value="">{translate(any)}</MenuItem>
      {options.map(([option, text]) => (
        <MenuItem key={option} value={option}>
          {text}
        </MenuItem>
      ))}
    </TextField>
  );
}
