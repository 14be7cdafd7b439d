import { Autocomplete, TextField } from "@mui/material";
import { useTranslate } from "react-admin";
import { useHistory } from "./history.ts";
import { useActorName } from "./summary.ts";

interface ActorChoiceProps {
  /** The actor in the form of the journal; empty for everyone. */
  readonly value: string;
  readonly onChange: (actor: string) => void;
}

/** Chooses the actor of the changes to show: offers the actors of the latest changes, and accepts any other text. */
export function ActorChoice({ value, onChange }: ActorChoiceProps) {
  const translate = useTranslate();
  const nameOf = useActorName();
  const { items } = useHistory({}, 0);
  const actors = [...new Set(items.map(({ actor }) => actor))];
  return (
    <Autocomplete
      freeSolo
      options={actors}
      value={value || null}
      getOptionLabel={nameOf}
      onChange={(_event, chosen) =>
        onChange(actors.find((actor) => nameOf(actor) === chosen?.trim()) ?? chosen?.trim() ?? "")
      }
      renderInput={(parameters) => (
        <TextField
          {...parameters}
          label={translate("history.actor")}
          placeholder={translate("history.everyone")}
          slotProps={{ ...parameters.slotProps, inputLabel: { ...parameters.slotProps?.inputLabel, shrink: true } }}
        />
      )}
    />
  );
}
