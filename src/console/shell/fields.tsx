// Text fields, choices and boxes for dialogs and filters.

import {
  Checkbox,
  type CheckboxProps,
  FormControl,
  FormControlLabel,
  FormGroup,
  FormLabel,
  MenuItem,
  type SxProps,
  TextField,
  type TextFieldProps,
} from "@mui/material";
import type { ReactNode } from "react";

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

interface TickProps extends Omit<CheckboxProps, "onChange"> {
  readonly label: ReactNode;
  readonly onChange: (checked: boolean) => void;
}

/** A box with a label. */
export function Tick({ label, onChange, ...rest }: TickProps) {
  return (
    <FormControlLabel
      label={label}
      control={<Checkbox {...rest} onChange={(_event, checked) => onChange(checked)} />}
    />
  );
}

interface TicksProps extends Pick<ChoiceProps, "label" | "options"> {
  readonly chosen: readonly string[];
  /** Called with the chosen values in the order of the options. */
  readonly onChange: (chosen: readonly string[]) => void;
}

/** A box for each value. */
export function Ticks({ label, options, chosen, onChange }: TicksProps) {
  const values = options.map(([value]) => value);
  const toggle = (changed: string, isChosen: boolean) =>
    onChange(values.filter((value) => (value === changed ? isChosen : chosen.includes(value))));
  return (
    <FormControl component="fieldset">
      <FormLabel component="legend">{label}</FormLabel>
      <FormGroup>
        {options.map(([value, text]) => (
          <Tick
            key={value}
            label={text}
            checked={chosen.includes(value)}
            onChange={(isChosen) => toggle(value, isChosen)}
          />
        ))}
      </FormGroup>
    </FormControl>
  );
}
