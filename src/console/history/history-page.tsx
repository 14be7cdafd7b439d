// The page of the history, with a choice of resource and actor.

import { Autocomplete, Card, MenuItem, Stack, TextField } from "@mui/material";
import { useState } from "react";
import { Page } from "../shell/page.tsx";
import { useDeclared } from "../shell/site-context.ts";
import { translate } from "../text/translate.ts";
import { useHistory } from "./history.ts";
import { HistoryList } from "./history-list.tsx";
import { useActorName } from "./summary.ts";

/** The page that shows what changed in the site, when, and by whom. */
export function HistoryPage() {
  const { resources } = useDeclared();
  const [resource, setResource] = useState("");
  const [actor, setActor] = useState("");
  const filter = { ...(resource ? { resource } : {}), ...(actor ? { actor } : {}) };
  return (
    <Page title={translate("history.title")} explain={translate("history.explain")}>
      <Stack
        direction={{ xs: "column", sm: "row" }}
        useFlexGap
        spacing={1}
        sx={{ mb: 1.5, "& > *": { maxWidth: { sm: 280 } } }}
      >
        <TextField
          select
          label={translate("history.resource")}
          value={resource}
          onChange={({ target }) => setResource(target.value)}
          slotProps={{ select: { displayEmpty: true }, inputLabel: { shrink: true } }}
        >
          <MenuItem value="">{translate("history.all")}</MenuItem>
          {resources.map(({ path, plural }) => (
            <MenuItem key={path} value={path}>
              {plural}
            </MenuItem>
          ))}
        </TextField>
        <ActorChoice value={actor} onChange={setActor} />
      </Stack>
      <Card>
        <HistoryList filter={filter} />
      </Card>
    </Page>
  );
}

interface ActorChoiceProps {
  /** The actor in the form of the journal; empty for everyone. */
  readonly value: string;
  readonly onChange: (actor: string) => void;
}

/** Chooses the actor of the changes to show: offers the actors of the latest changes, and accepts any other text. */
function ActorChoice({ value, onChange }: ActorChoiceProps) {
  const nameOf = useActorName();
  const { entries } = useHistory({}, 0);
  const actors = [...new Set(entries.map(({ actor }) => actor))];
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
