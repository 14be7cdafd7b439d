// The history page: what changed in the site, when, and by whom. Its filters (days, kind of record, kind of change, and person) are in the address,
// so that it can be shared.

import { Autocomplete, Box, Button, Card, Chip, TextField } from "@mui/material";
import { useMemo, useState } from "react";
import type { HistoryEntryInfo } from "../../admin/api/record-types.ts";
import { Choice, TextInput } from "../shell/fields.tsx";
import { DownloadIcon } from "../shell/icons.tsx";
import { Page } from "../shell/page.tsx";
import { useAddress } from "../shell/router.tsx";
import { singularOf, useDeclared, useSession } from "../shell/site-context.ts";
import { capitalize, toNumber } from "../text/locale.ts";
import { serverNow } from "../text/server-time.ts";
import { type TextKey, translate } from "../text/translate.ts";
import { type Days, dayPresets, daysOf, parseDay, presetOf, toInstants } from "./days.ts";
import { nameOfActor } from "./description.tsx";
import { type HistoryFilter, useHistory, useHistoryFile } from "./history.ts";
import { HistoryList } from "./history-list.tsx";

export function HistoryPage() {
  const { chosen, filter, set, clear } = useFilters();
  const file = useHistoryFile(filter);
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <Page
      title={translate("history.title")}
      explain={translate("history.explain")}
      actions={
        <Button
          variant="outlined"
          disabled={file.changes !== undefined}
          onClick={file.save}
          startIcon={<DownloadIcon />}
          title={translate("history.export_explain")}
        >
          {file.changes === undefined
            ? translate("history.export")
            : translate("history.exporting", { count: toNumber(file.changes) })}
        </Button>
      }
    >
      <Filters chosen={chosen} set={set} clear={clear} />
      <Card>
        <HistoryList
          key={JSON.stringify(filter)}
          filter={filter}
          isOfRecord={chosen.id !== ""}
          hasDays
          onClear={isFiltered ? clear : undefined}
        />
      </Card>
    </Page>
  );
}

const kinds = ["create", "update", "delete"] as const;

/** The filters that are set; an empty string means none. */
interface Chosen {
  readonly from: string;
  readonly to: string;
  /** A resource's path. */
  readonly resource: string;
  readonly kind: (typeof kinds)[number] | "";
  /** An actor as in the journal, or an operator's name. */
  readonly by: string;
  /** A record's ID. */
  readonly id: string;
}

/** Returns the filters in the address as a query, ignoring invalid ones, and a function that changes some of them. */
function useFilters() {
  const [parameters, change] = useAddress();
  const { resources } = useDeclared();
  const chosen = useMemo((): Chosen => {
    const resource = resources.find(({ path }) => path === parameters.get("resource"))?.path ?? "";
    const id = parameters.get("id") ?? "";
    return {
      from: parseDay(parameters.get("from")),
      to: parseDay(parameters.get("to")),
      resource,
      kind: kinds.find((kind) => kind === parameters.get("kind")) ?? "",
      by: parameters.get("by") ?? "",
      id: resource && /^[1-9][0-9]{0,14}$/.test(id) ? id : "",
    };
  }, [parameters, resources]);
  const filter = useMemo((): HistoryFilter => {
    const { from, to, resource, kind, by, id } = chosen;
    return {
      ...toInstants({ from, to }),
      ...(resource ? { resource } : {}),
      ...(kind ? { kind } : {}),
      ...(by ? { actor: by } : {}),
      ...(id ? { id: Number(id) } : {}),
    };
  }, [chosen]);
  const set = (changes: Partial<Chosen>) => change(changes, "push");
  const clear = () => set({ from: "", to: "", resource: "", kind: "", by: "", id: "" });
  return { chosen, filter, set, clear };
}

type FiltersProps = Pick<ReturnType<typeof useFilters>, "chosen" | "set" | "clear">;

export const filtersStyle = { display: "flex", flexWrap: "wrap", gap: 1, mb: 2, alignItems: "flex-end" } as const;

const daysStyle = {
  display: "flex",
  flexWrap: "wrap",
  gap: 0.75,
  width: "100%",
  mb: 0.5,
} as const;

function Filters({ chosen, set, clear }: FiltersProps) {
  const { resources } = useDeclared();
  const { resource, kind, by, id } = chosen;
  const { entries } = useHistory({}, 0);
  return (
    <Box role="search" sx={filtersStyle}>
      <DayFilters days={chosen} set={set} />
      <Choice
        label={translate("history.resource")}
        any={translate("history.all")}
        sx={controlStyle}
        value={resource}
        options={resources.map(({ path, plural }) => [path, capitalize(plural)])}
        onChange={(path) => set({ resource: path, id: "" })}
      />
      <Choice
        label={translate("history.kind")}
        any={translate("history.all_kinds")}
        sx={controlStyle}
        value={kind}
        options={kinds.map((name) => [name, translate(`history.kind_${name}`)])}
        onChange={(name) => set({ kind: name as Chosen["kind"] })}
      />
      <PersonChoice value={by} entries={entries} onChange={(actor) => set({ by: actor })} />
      {id && (
        <Chip
          label={translate("history.one_record", { resource: capitalize(singularOf(resources, resource)), id })}
          onDelete={() => set({ id: "" })}
        />
      )}
      {Object.values(chosen).some((value) => value !== "") && (
        <Button size="small" onClick={clear}>
          {translate("history.clear")}
        </Button>
      )}
    </Box>
  );
}

interface DayFiltersProps {
  readonly days: Days;
  readonly set: (days: Partial<Days>) => void;
}

export function DayFilters({ days, set }: DayFiltersProps) {
  const now = serverNow();
  const preset = presetOf(days, now);
  return (
    <>
      <Box sx={daysStyle}>
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
      <DayField label="history.from" value={days.from} onChange={(day) => set({ from: day })} />
      <DayField label="history.to" value={days.to} onChange={(day) => set({ to: day })} />
    </>
  );
}

/** The width of a control: half of a phone's. */
export const controlStyle = { m: 0, width: { xs: "calc(50% - 4px)", sm: 152 } } as const;

interface DayFieldProps {
  readonly label: TextKey;
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
      label={translate(label)}
      value={typed.text}
      onChange={(text) => {
        setTyped({ value, text });
        if (text === "" || parseDay(text)) onChange(text);
      }}
      sx={controlStyle}
    />
  );
}

interface PersonChoiceProps extends Pick<DayFieldProps, "value" | "onChange"> {
  /** The latest. */
  readonly entries: readonly Pick<HistoryEntryInfo, "actor" | "actorLabel">[];
  readonly label?: string;
}

/** Chooses a person or key. Suggests you and those of the latest changes, and accepts any other name. */
export function PersonChoice({ value, entries, onChange, label = translate("history.actor") }: PersonChoiceProps) {
  const { operator } = useSession();
  const reader = { actor: `console:${operator}`, actorLabel: null };
  const names = new Map([reader, ...entries].map((entry) => [entry.actor, nameOfActor(entry)]));
  const nameOf = (actor: string) => names.get(actor) ?? nameOfActor({ actor, actorLabel: null });
  const actors = [...names.keys()];
  return (
    <Autocomplete
      freeSolo
      options={actors}
      value={value || null}
      getOptionLabel={nameOf}
      onChange={(_event, chosen) =>
        onChange(actors.find((actor) => nameOf(actor) === chosen?.trim()) ?? chosen?.trim() ?? "")
      }
      sx={{ width: { xs: "100%", sm: 200 } }}
      renderInput={(parameters) => (
        <TextField
          {...parameters}
          label={label}
          placeholder={translate("history.everyone")}
          margin="none"
          slotProps={{ ...parameters.slotProps, inputLabel: { ...parameters.slotProps?.inputLabel, shrink: true } }}
        />
      )}
    />
  );
}
