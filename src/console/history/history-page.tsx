import { Box, Card, MenuItem, Stack, TextField } from "@mui/material";
import { useState } from "react";
import { useTranslate } from "react-admin";
import { PageTitle } from "../shell/page-title.tsx";
import { useDeclared } from "../site-context.ts";
import { HistoryList } from "./history-list.tsx";

/** What changed in the site, when, and by whom. */
export function HistoryPage() {
  const translate = useTranslate();
  const { resources } = useDeclared();
  const [resource, setResource] = useState("");
  const [actor, setActor] = useState("");
  const filter = { ...(resource ? { resource } : {}), ...(actor ? { actor } : {}) };
  return (
    <Box component="section" sx={{ mt: 2 }}>
      <PageTitle title={translate("history.title")} />
      <Stack direction="row" spacing={1} sx={{ mb: 1 }}>
        <TextField
          select
          size="small"
          label={translate("history.resource")}
          value={resource}
          onChange={({ target }) => setResource(target.value)}
          sx={{ minWidth: 160 }}
        >
          <MenuItem value="">{translate("history.all")}</MenuItem>
          {resources.map(({ path, plural }) => (
            <MenuItem key={path} value={path}>
              {plural}
            </MenuItem>
          ))}
        </TextField>
        <TextField
          size="small"
          label={translate("history.actor")}
          value={actor}
          onChange={({ target }) => setActor(target.value)}
          placeholder={translate("history.actor_help")}
        />
      </Stack>
      <Card>
        <HistoryList filter={filter} />
      </Card>
    </Box>
  );
}
