import {
  Button,
  Card,
  Chip,
  Stack,
  Table,
  TableBody,
  TableCell,
  TableContainer,
  TableHead,
  TableRow,
  Typography,
} from "@mui/material";
import { useTranslate } from "react-admin";
import { Link } from "react-router-dom";
import type { SiteInfo } from "../declarations.ts";
import type { OpenSite } from "./site-dialogs.tsx";

interface SiteTableProps {
  readonly sites: readonly SiteInfo[];
  readonly isForAll: boolean;
  readonly onOpen: (open: OpenSite) => void;
}

/** A phone shows the hostnames below the name. */
const onDesktop = { display: { xs: "none", sm: "table-cell" }, overflowWrap: "anywhere" };

export function SiteTable({ sites, ...rest }: SiteTableProps) {
  const translate = useTranslate();
  return (
    <TableContainer component={Card}>
      <Table size="small">
        <TableHead>
          <TableRow>
            <TableCell>{translate("sites.name")}</TableCell>
            <TableCell sx={onDesktop}>{translate("sites.hostnames")}</TableCell>
            <TableCell>{translate("sites.state")}</TableCell>
            <TableCell component="td" />
          </TableRow>
        </TableHead>
        <TableBody>
          {sites.map((site) => (
            <SiteRow key={site.id} site={site} {...rest} />
          ))}
        </TableBody>
      </Table>
    </TableContainer>
  );
}

function SiteRow({ site, isForAll, onOpen }: Omit<SiteTableProps, "sites"> & { readonly site: SiteInfo }) {
  const translate = useTranslate();
  const { name, hostnames, suspended, importing } = site;
  const toggle = suspended ? "resume" : "suspend";
  const actions = importing ? [] : (["edit", toggle, ...(isForAll ? (["remove"] as const) : [])] as const);
  return (
    <TableRow hover>
      <TableCell sx={{ fontWeight: 600, overflowWrap: "anywhere" }}>
        <Link to={`/${name}`} aria-label={`${translate("sites.open")} ${name}`} style={{ color: "inherit" }}>
          {name}
        </Link>
        <Typography variant="body2" color="textSecondary" sx={{ display: { sm: "none" } }}>
          {hostnames.join(", ")}
        </Typography>
      </TableCell>
      <TableCell sx={onDesktop}>{hostnames.join(", ") || translate("sites.no_hostnames")}</TableCell>
      <TableCell>
        <SiteState site={site} />
      </TableCell>
      <TableCell align="right" sx={{ whiteSpace: { sm: "nowrap" } }}>
        {actions.map((kind) => (
          <Button
            key={kind}
            size="small"
            color={kind === "remove" ? "error" : "primary"}
            onClick={() => onOpen({ kind, site })}
            aria-label={`${translate(`sites.${kind}`)} ${name}`}
          >
            {translate(`sites.${kind}`)}
          </Button>
        ))}
      </TableCell>
    </TableRow>
  );
}

function SiteState({ site: { isDefault, suspended, importing } }: { readonly site: SiteInfo }) {
  const translate = useTranslate();
  const state = importing ? "importing" : suspended ? "suspended" : "served";
  const color = state === "served" ? "success" : "warning";
  return (
    <Stack direction="row" useFlexGap sx={{ gap: 1, flexWrap: "wrap" }}>
      <Chip size="small" variant="outlined" color={color} label={translate(`sites.${state}`)} />
      {isDefault && <Chip size="small" variant="outlined" label={translate("sites.default")} />}
    </Stack>
  );
}
