import { Box, Button, Stack, TextField, Typography } from "@mui/material";
import { useState } from "react";
import { useTranslate } from "react-admin";
import { PageTitle } from "../shell/page-title.tsx";
import { useDeclared, useSession } from "../site-context.ts";
import { type OpenSite, SiteDialogs } from "./site-dialogs.tsx";
import { SiteTable } from "./site-table.tsx";

/** Sites that are shown at first, and with each step. */
const portion = 50;

/** The sites that the operator may manage. */
export function SitesPage() {
  const translate = useTranslate();
  const { sites } = useDeclared();
  const isForAll = useSession().sites === null;
  const [open, setOpen] = useState<OpenSite>();
  const [search, setSearch] = useState("");
  const [limit, setLimit] = useState(portion);
  const wanted = search.trim().toLowerCase();
  const found = sites.filter(({ name, hostnames }) => [name, ...hostnames].some((text) => text.includes(wanted)));
  return (
    <Box component="section" sx={{ mt: 2 }}>
      <PageTitle title={translate("sites.title")} />
      <Stack
        direction={{ xs: "column", sm: "row" }}
        spacing={2}
        sx={{ mb: 2, alignItems: { sm: "center" }, justifyContent: "space-between" }}
      >
        <Typography color="textSecondary">{translate("sites.explain")}</Typography>
        {isForAll && (
          <Button
            variant="contained"
            data-shortcut="new"
            onClick={() => setOpen({ kind: "new" })}
            sx={{ flexShrink: 0 }}
          >
            {translate("sites.add")}
          </Button>
        )}
      </Stack>
      {sites.length > 5 && (
        <TextField
          type="search"
          size="small"
          label={translate("sites.search")}
          value={search}
          onChange={({ target }) => setSearch(target.value)}
          sx={{ mb: 2, width: { xs: "100%", sm: 300 } }}
        />
      )}
      {found.length === 0 && <Typography>{translate("sites.none")}</Typography>}
      {found.length > 0 && <SiteTable sites={found.slice(0, limit)} isForAll={isForAll} onOpen={setOpen} />}
      {found.length > limit && (
        <Button onClick={() => setLimit(limit + portion)} sx={{ mt: 1 }}>
          {translate("sites.more", { smart_count: found.length - limit })}
        </Button>
      )}
      <SiteDialogs open={open} onOpen={setOpen} isForAll={isForAll} />
    </Box>
  );
}
