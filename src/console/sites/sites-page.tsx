// The page of sites, with a search and its dialogs.

import { Button, Chip, Stack } from "@mui/material";
import { useCallback, useEffect, useMemo, useState } from "react";
import type { SiteInfo } from "../../admin/api/types.ts";
import { ActionMenu } from "../shell/action-menu.tsx";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { TextInput } from "../shell/fields.tsx";
import { StorefrontIcon } from "../shell/icons.tsx";
import { Initial } from "../shell/initial.tsx";
import { Page } from "../shell/page.tsx";
import { EmptyList } from "../shell/query-result.tsx";
import { NewButton, ViewOnlyNotice } from "../shell/role-notice.tsx";
import { findLive, findSandboxOf, useCan, useDeclared, useReload, useSession } from "../shell/site-context.ts";
import { translate } from "../text/translate.ts";
import { type OpenSite, SiteDialogs, type SiteTask } from "./site-dialogs.tsx";

/** Number of sites shown at first, and added by each click on the button for more. */
const portion = 50;

/** Milliseconds after which opening the page loads the sites again, because others may have changed them. */
const maxAgeMs = 5000;

export function SitesPage() {
  const { sites, loadedAt } = useDeclared();
  const reload = useReload();
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the page is opened
  useEffect(() => {
    if (Date.now() - loadedAt.getTime() > maxAgeMs) reload().catch(() => {});
  }, []);
  const isForAll = useSession().sites === null;
  const [open, setOpen] = useState<OpenSite>();
  const [search, setSearch] = useState("");
  const [limit, setLimit] = useState(portion);
  const wanted = search.trim().toLowerCase();
  // A sandbox also matches its live site's hostnames, which its keys work at.
  const textsOf = (site: SiteInfo) => [site.name, ...(findLive(sites, site) ?? site).hostnames];
  const found = sites.filter((site) => textsOf(site).some((text) => text.includes(wanted)));
  const add = isForAll && <NewButton text={translate("sites.add")} onClick={() => setOpen({ kind: "new" })} />;
  return (
    <Page title={translate("sites.title")} explain={translate("sites.explain")} actions={add}>
      <ViewOnlyNotice right="settings" />
      {sites.length > 5 && (
        <TextInput
          type="search"
          label={translate("sites.search")}
          value={search}
          onChange={setSearch}
          sx={{ mb: 2, width: { xs: "100%", sm: 300 } }}
        />
      )}
      <SiteList sites={found.slice(0, limit)} onOpen={setOpen} />
      {found.length > limit && (
        <Button onClick={() => setLimit(limit + portion)} sx={{ mt: 1 }}>
          {translate("sites.more", { smart_count: found.length - limit })}
        </Button>
      )}
      {open && <SiteDialogs open={open} onClose={() => setOpen(undefined)} isForAll={isForAll} />}
    </Page>
  );
}

interface SiteListProps {
  readonly sites: readonly SiteInfo[];
  /** Must be stable. */
  readonly onOpen: (open: OpenSite) => void;
}

const hrefOf = ({ name }: SiteInfo) => `/${name}`;

function SiteList({ sites, onOpen }: SiteListProps) {
  const { sites: all } = useDeclared();
  const isForAll = useSession().sites === null;
  const canChange = useCan("settings");
  const columns = useMemo(() => columnsOf(all), [all]);
  const menuOf = useCallback(
    (site: SiteInfo) => {
      const tasks = tasksOf(site, all, isForAll);
      return (
        tasks.length > 0 && (
          <ActionMenu
            label={translate("general.actions_for", { name: site.name })}
            actions={tasks}
            textOf={(task) => translate(`sites.${task}`)}
            dangerous="remove"
            onChoose={(kind) => onOpen({ kind, site })}
          />
        )
      );
    },
    [all, isForAll, onOpen],
  );
  return (
    <DataList
      label={translate("sites.title")}
      rows={sites}
      columns={columns}
      rowKey={({ id }) => id}
      nameOf={({ name }) => name}
      hrefOf={hrefOf}
      actions={canChange ? menuOf : undefined}
      empty={
        <EmptyList icon={StorefrontIcon} title={translate("sites.none")} explain={translate("sites.none_explain")} />
      }
    />
  );
}

/** @param all all sites the operator can access, including the live site of each sandbox */
function columnsOf(all: readonly SiteInfo[]): DataColumn<SiteInfo>[] {
  return [
    {
      name: "name",
      label: translate("sites.name"),
      isPrimary: true,
      render: ({ name }) => (
        <span className="named">
          <Initial name={name} />
          {name}
        </span>
      ),
    },
    {
      name: "hostnames",
      label: translate("sites.hostnames"),
      render: (site) => {
        const live = findLive(all, site);
        return live ? translate("sites.sandbox_of", { name: live.name }) : formatHostnames(site);
      },
    },
    { name: "state", label: translate("general.status"), render: (site) => <SiteState site={site} /> },
  ];
}

const maxHostnames = 4;

function formatHostnames({ hostnames }: SiteInfo): string {
  if (hostnames.length === 0) return translate("general.none");
  const more = hostnames.length - maxHostnames;
  const shown = hostnames.slice(0, maxHostnames).join(", ");
  return more > 0 ? `${shown} ${translate("general.and_more", { count: more })}` : shown;
}

/** Returns the actions a site has. A sandbox has no settings of its own. */
function tasksOf(site: SiteInfo, all: readonly SiteInfo[], isForAll: boolean): SiteTask[] {
  const { suspended, importing, sandboxOf } = site;
  if (importing) return [];
  const removal: SiteTask[] = isForAll ? ["remove"] : [];
  if (sandboxOf !== null) return ["renew", ...removal];
  const making: SiteTask[] = findSandboxOf(all, site) ? [] : ["sandbox"];
  return ["edit", ...making, suspended ? "resume" : "suspend", ...removal];
}

function SiteState({ site: { isDefault, suspended, importing } }: { readonly site: SiteInfo }) {
  const state = importing ? "importing" : suspended ? "suspended" : "served";
  const color = state === "served" ? "success" : "warning";
  return (
    <Stack direction="row" useFlexGap sx={{ gap: 1, flexShrink: 0 }}>
      <Chip variant="outlined" color={color} label={translate(`sites.${state}`)} />
      {isDefault && <Chip variant="outlined" label={translate("sites.default")} />}
    </Stack>
  );
}
