// The filters above a list of what happened. They're in the address, so that they can be shared.

import { Autocomplete, Box, Button, Chip, TextField, Typography } from "@mui/material";
import { type ReactNode, useState } from "react";
import type { HistoryEntryInfo } from "../../admin/api/record-types.ts";
import { Choice, TextInput } from "../shell/fields.tsx";
import { useAddress } from "../shell/router.tsx";
import { useSession } from "../shell/site-context.ts";
import { useIsNarrow } from "../shell/theme.ts";
import { serverNow } from "../text/server-time.ts";
import { type TextKey, translate } from "../text/translate.ts";
import { type Days, dayPresets, daysOf, parseDay, presetOf } from "./days.ts";
import { nameOfActor } from "./description.tsx";

interface Filters<Name extends string> {
  /** An empty string means none. Days are valid. */
  readonly chosen: Readonly<Record<Name, string>>;
  readonly set: (changes: { readonly [name in Name]?: string }) => void;
  /** Undefined if no filter is set. */
  readonly clear: (() => void) | undefined;
}

/**
 * Reads the filters from the address, and changes them there.
 * @param options the values that some filters can have; any other value counts as none
 */
export function useFilters<Name extends string>(
  names: readonly Name[],
  options: { readonly [name in Name]?: readonly string[] },
): Filters<Name> {
  const [parameters, change] = useAddress();
  const textOf = (name: Name) => {
    const value = parameters.get(name) ?? "";
    if (name === "from" || name === "to") return parseDay(value);
    return options[name]?.includes(value) === false ? "" : value;
  };
  const all = (value: (name: Name) => string) =>
    Object.fromEntries(names.map((name) => [name, value(name)])) as Record<Name, string>;
  const chosen = all(textOf);
  const set: Filters<Name>["set"] = (changes) => change(changes, "push");
  return { chosen, set, clear: names.some((name) => chosen[name]) ? () => set(all(() => "")) : undefined };
}

interface FilterChoice<Name extends string> {
  readonly name: Name;
  readonly label: string;
  /** What to show for none. */
  readonly any: string;
  readonly options: readonly (readonly [value: string, text: string])[];
}

interface FilterBarProps<Name extends string> {
  readonly filters: Filters<Name>;
  readonly choices: readonly FilterChoice<Name>[];
  readonly children?: ReactNode;
}

export function FilterBar<Name extends string>({ filters, choices, children }: FilterBarProps<Name>) {
  const { chosen, set, clear } = filters;
  const isNarrow = useIsNarrow();
  const [isOpen, setOpen] = useState(false);
  // On a phone, the filters would fill the screen.
  if (isNarrow && !isOpen && !clear)
    return (
      <Button variant="outlined" onClick={() => setOpen(true)} sx={{ mb: 2 }}>
        {translate("general.filter")}
      </Button>
    );
  return (
    <Box role="search" sx={{ display: "flex", flexWrap: "wrap", gap: 1, mb: 2, alignItems: "flex-end" }}>
      {"from" in chosen && <DayFilters {...(filters as unknown as Filters<keyof Days>)} />}
      {choices.map(({ name, ...choice }) => (
        <Choice
          key={name}
          {...choice}
          sx={controlStyle}
          value={chosen[name]}
          onChange={(value) => set({ [name]: value } as typeof chosen)}
        />
      ))}
      {children}
      {clear && (
        <Button size="small" onClick={clear}>
          {translate("general.clear_filters")}
        </Button>
      )}
    </Box>
  );
}

/** The width of a control: half of a phone's. */
const controlStyle = { m: 0, width: { xs: "calc(50% - 4px)", sm: 168 } } as const;

function DayFilters({ chosen, set }: Filters<keyof Days>) {
  const now = serverNow();
  const preset = presetOf(chosen, now);
  return (
    <>
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 0.75, width: "100%", mb: 0.5 }}>
        {dayPresets.map((name) => (
          <Chip
            key={name}
            label={translate(`history.preset_${name}`)}
            color={preset === name ? "primary" : "default"}
            variant={preset === name ? "filled" : "outlined"}
            aria-pressed={preset === name}
            onClick={() => set(preset === name ? { from: "", to: "" } : daysOf(name, now))}
          />
        ))}
      </Box>
      <DayField label={translate("history.from")} value={chosen.from} onChange={(from) => set({ from })} />
      <DayField label={translate("history.to")} value={chosen.to} onChange={(to) => set({ to })} />
    </>
  );
}

interface DayFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (day: string) => void;
}

/** A date field. While the date is incomplete, its value is empty. */
function DayField({ label, value, onChange }: DayFieldProps) {
  // As you type a year, the field passes through years such as 0002. Don't use those yet.
  const [typed, setTyped] = useState({ value, text: value });
  if (typed.value !== value) setTyped({ value, text: value });
  return (
    <TextInput
      type="date"
      label={label}
      value={typed.text}
      onChange={(text) => {
        setTyped({ value, text });
        if (text === "" || parseDay(text)) onChange(text);
      }}
      sx={controlStyle}
    />
  );
}

interface PersonChoiceProps extends Pick<Filters<"by">, "chosen" | "set"> {
  /** The latest. */
  readonly entries: readonly Pick<HistoryEntryInfo, "actor" | "actorLabel">[];
}

/** Chooses a person or key. Suggests you and those of the latest changes, and accepts any other name. */
export function PersonChoice({ chosen: { by }, set, entries }: PersonChoiceProps) {
  const { operator } = useSession();
  const reader = { actor: `console:${operator}`, actorLabel: null };
  const names = new Map([reader, ...entries].map((entry) => [entry.actor, nameOfActor(entry)]));
  const nameOf = (actor: string) => names.get(actor) ?? nameOfActor({ actor, actorLabel: null });
  const actors = [...names.keys()];
  return (
    <Autocomplete
      freeSolo
      options={actors}
      value={by || null}
      getOptionLabel={nameOf}
      onChange={(_event, typed) =>
        set({ by: actors.find((actor) => nameOf(actor) === typed?.trim()) ?? typed?.trim() ?? "" })
      }
      sx={{ width: { xs: "100%", sm: 200 } }}
      renderInput={(parameters) => (
        <TextField
          {...parameters}
          label={translate("history.actor")}
          placeholder={translate("history.everyone")}
          margin="none"
          slotProps={{ ...parameters.slotProps, inputLabel: { ...parameters.slotProps?.inputLabel, shrink: true } }}
        />
      )}
    />
  );
}

/** Says that a list is empty. @param clear undefined if no filter is set */
export function NoEntries({ none, clear }: { readonly none: TextKey } & Pick<Filters<string>, "clear">) {
  return (
    <Typography color="textSecondary" sx={{ p: 2 }}>
      {translate(clear ? "general.none_selected" : none)}
    </Typography>
  );
}
