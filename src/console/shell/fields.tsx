// Text fields and choices for dialogs and filters.

import { MenuItem, type SxProps, TextField, type TextFieldProps } from "@mui/material";

interface TextInputProps extends Omit<TextFieldProps, "onChange" | "slotProps"> {
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Attributes of the `input` element. */
  readonly input?: Readonly<Record<string, string | number | boolean>>;
}

export function TextInput({ onChange, input = {}, ...rest }: TextInputProps) {
  // The browser shows a date or time pattern in an empty field, so the label can't go there.
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
  /** The chosen value. An empty string means none, or any. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** The values, each with the text to show. */
  readonly options: readonly (readonly [value: string, text: string])[];
  /** What to show for the empty string, if it can be chosen. */
  readonly any?: string;
  /** Whether to use the browser's own list. */
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
