// The list of sites: a table, or on a phone a card for each site.

import {
  Button,
  Card,
  CardActions,
  CardContent,
  Chip,
  Link as MuiLink,
  Stack,
  Table,
  TableBody,
  TableCell,
  TableContainer,
  TableHead,
  TableRow,
  Typography,
} from "@mui/material";
import { Link } from "react-router-dom";
import type { SiteInfo } from "../../admin/api/types.ts";
import { findLive, findSandboxOf } from "../shell/sandboxes.ts";
import { useDeclared } from "../shell/site-context.ts";
import { useIsNarrow } from "../shell/theme.ts";
import { translate } from "../text/translate.ts";
import type { OpenSite } from "./site-dialogs.tsx";

interface SiteListProps {
  readonly sites: readonly SiteInfo[];
  readonly isForAll: boolean;
  readonly onOpen: (open: OpenSite) => void;
}

export function SiteList(props: SiteListProps) {
  const isNarrow = useIsNarrow();
  return isNarrow ? <SiteCards {...props} /> : <SiteTable {...props} />;
}

function SiteTable({ sites, ...rest }: SiteListProps) {
  return (
    <TableContainer component={Card}>
      <Table size="small">
        <TableHead>
          <TableRow>
            <TableCell>{translate("sites.name")}</TableCell>
            <TableCell>{translate("sites.hostnames")}</TableCell>
            <TableCell>{translate("sites.state")}</TableCell>
            <TableCell component="td" />
          </TableRow>
        </TableHead>
        <TableBody>
          {sites.map((site) => (
            <TableRow key={site.id} hover>
              <TableCell sx={{ overflowWrap: "anywhere" }}>
                <SiteName site={site} />
              </TableCell>
              <TableCell sx={{ overflowWrap: "anywhere" }}>
                <Hostnames site={site} />
              </TableCell>
              <TableCell>
                <SiteState site={site} />
              </TableCell>
              <TableCell align="right" sx={{ whiteSpace: "nowrap" }}>
                <SiteButtons site={site} {...rest} />
              </TableCell>
            </TableRow>
          ))}
        </TableBody>
      </Table>
    </TableContainer>
  );
}

function SiteCards({ sites, ...rest }: SiteListProps) {
  return (
    <Stack spacing={1.5}>
      {sites.map((site) => (
        <Card key={site.id} component="article" aria-label={site.name}>
          <CardContent sx={{ pb: 0, overflowWrap: "anywhere" }}>
            <Stack direction="row" spacing={1} sx={{ justifyContent: "space-between", alignItems: "flex-start" }}>
              <SiteName site={site} />
              <SiteState site={site} />
            </Stack>
            <Typography variant="body2" color="textSecondary">
              <Hostnames site={site} />
            </Typography>
          </CardContent>
          <CardActions sx={{ flexWrap: "wrap" }}>
            <SiteButtons site={site} {...rest} />
          </CardActions>
        </Card>
      ))}
    </Stack>
  );
}

interface SiteProps {
  readonly site: SiteInfo;
}

function SiteName({ site: { name } }: SiteProps) {
  return (
    <MuiLink
      component={Link}
      to={`/${name}`}
      aria-label={`${translate("sites.open")} ${name}`}
      sx={{ fontWeight: 600, overflowWrap: "anywhere" }}
    >
      {name}
    </MuiLink>
  );
}

/** Maximum number of hostnames to show. For further hostnames, only their number is shown. */
const maxHostnames = 4;

function Hostnames({ site }: SiteProps) {
  const live = findLive(useDeclared().sites, site);
  if (live) return translate("sites.sandbox_of", { name: live.name });
  const { hostnames } = site;
  if (hostnames.length === 0) return translate("sites.no_hostnames");
  const more = hostnames.length - maxHostnames;
  const shown = hostnames.slice(0, maxHostnames).join(", ");
  return more > 0 ? `${shown} ${translate("sites.more_hostnames", { count: more })}` : shown;
}

function SiteButtons({ site, isForAll, onOpen }: Omit<SiteListProps, "sites"> & SiteProps) {
  const { name } = site;
  const { sites } = useDeclared();
  return actionsOf(site, sites, isForAll).map((kind) => (
    <Button
      key={kind}
      size="small"
      color={kind === "remove" ? "error" : "primary"}
      onClick={() => onOpen({ kind, site })}
      aria-label={`${translate(`sites.${kind}`)} ${name}`}
    >
      {translate(`sites.${kind}`)}
    </Button>
  ));
}

type SiteAction = Extract<OpenSite, { readonly site: SiteInfo }>["kind"];

/** Returns the actions that a site has. A sandbox has no settings of its own. */
function actionsOf(site: SiteInfo, sites: readonly SiteInfo[], isForAll: boolean): SiteAction[] {
  const { suspended, importing, sandboxOf } = site;
  if (importing) return [];
  const removal: SiteAction[] = isForAll ? ["remove"] : [];
  if (sandboxOf !== null) return ["renew", ...removal];
  const making: SiteAction[] = findSandboxOf(sites, site) ? [] : ["sandbox"];
  return ["edit", suspended ? "resume" : "suspend", ...making, ...removal];
}

function SiteState({ site: { isDefault, suspended, importing } }: SiteProps) {
  const state = importing ? "importing" : suspended ? "suspended" : "served";
  const color = state === "served" ? "success" : "warning";
  return (
    <Stack direction="row" useFlexGap sx={{ gap: 1, flexShrink: 0 }}>
      <Chip size="small" variant="outlined" color={color} label={translate(`sites.${state}`)} />
      {isDefault && <Chip size="small" variant="outlined" label={translate("sites.default")} />}
    </Stack>
  );
}
