import { Card, MenuItem, Stack, TextField } from "@mui/material";
import { useState } from "react";
import { useTranslate } from "react-admin";
import { useDeclared } from "../frame/site-context.ts";
import { Page } from "../shell/page.tsx";
import { ActorChoice } from "./actor-choice.tsx";
import { HistoryList } from "./history-list.tsx";

/** The page that shows what changed in the site, when, and by whom. */
export function HistoryPage() {
  const translate = useTranslate();
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
