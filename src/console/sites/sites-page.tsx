// The page of sites: a search, the list, and its dialogs.

import { Button, TextField, Typography } from "@mui/material";
import { useState } from "react";
import type { SiteInfo } from "../../admin/api/types.ts";
import { Page } from "../shell/page.tsx";
import { findLive } from "../shell/sandboxes.ts";
import { useDeclared, useSession } from "../shell/site-context.ts";
import { translate } from "../text/translate.ts";
import { type OpenSite, SiteDialogs } from "./site-dialogs.tsx";
import { SiteList } from "./site-list.tsx";

/** Number of sites that are shown first, and added with each click on the button for more. */
const portion = 50;

/** The page with the sites that the operator may manage. */
export function SitesPage() {
  const { sites } = useDeclared();
  const isForAll = useSession().sites === null;
  const [open, setOpen] = useState<OpenSite>();
  const [search, setSearch] = useState("");
  const [limit, setLimit] = useState(portion);
  const wanted = search.trim().toLowerCase();
  // A sandbox is also found by the hostnames of its live site, which its keys are for.
  const textsOf = (site: SiteInfo) => [site.name, ...(findLive(sites, site) ?? site).hostnames];
  const found = sites.filter((site) => textsOf(site).some((text) => text.includes(wanted)));
  return (
    <Page
      title={translate("sites.title")}
      explain={translate("sites.explain")}
      actions={
        isForAll && (
          <Button
            variant="contained"
            data-shortcut="new"
            onClick={() => setOpen({ kind: "new" })}
            sx={{ flexShrink: 0 }}
          >
            {translate("sites.add")}
          </Button>
        )
      }
    >
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
      {found.length > 0 && <SiteList sites={found.slice(0, limit)} isForAll={isForAll} onOpen={setOpen} />}
      {found.length > limit && (
        <Button onClick={() => setLimit(limit + portion)} sx={{ mt: 1 }}>
          {translate("sites.more", { smart_count: found.length - limit })}
        </Button>
      )}
      <SiteDialogs open={open} onOpen={setOpen} isForAll={isForAll} />
    </Page>
  );
}
