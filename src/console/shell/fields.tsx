// The fields of dialogs and filters: a text, and one of several values.

import { MenuItem, type SxProps, TextField, type TextFieldProps } from "@mui/material";

interface TextInputProps extends Omit<TextFieldProps, "onChange" | "slotProps"> {
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Attributes of the element `input`. */
  readonly input?: Readonly<Record<string, string | number | boolean>>;
}

export function TextInput({ onChange, input = {}, ...rest }: TextInputProps) {
  // The browser shows the form of a date or a time in an empty field.
  const inputLabel = rest.type?.startsWith("date") ? { shrink: true } : {};
  return (
    <TextField
      {...rest}
      onChange={({ target }) => onChange(target.value)}
      slotProps={{ htmlInput: input, inputLabel }}
    />
  );
}

interface ChoiceProps {
  readonly label: string;
  /** The chosen value; the empty text for none, or for any. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** The values, and how each is shown. */
  readonly options: readonly (readonly [value: string, text: string])[];
  /** The text that stands for the empty text, if that can be chosen. */
  readonly any?: string;
  /** Whether the list is that of the browser. */
  readonly isNative?: boolean;
  readonly autoFocus?: boolean;
  /** Width and margins. */
  readonly sx?: SxProps;
}

export function Choice({ value, onChange, options, any, isNative = false, sx = {}, ...rest }: ChoiceProps) {
  const Option = isNative ? "option" : MenuItem;
  return (
    <TextField
      {...rest}
      select
      value={value}
      onChange={({ target }) => onChange(target.value)}
      slotProps={{ select: { displayEmpty: true, native: isNative }, inputLabel: { shrink: true } }}
      sx={sx}
    >
      {[...(any === undefined ? [] : [["", any] as const]), ...options].map(([option, text]) => (
        <Option key={option} value={option}>
          {text}
        </Option>
      ))}
    </TextField>
  );
}
