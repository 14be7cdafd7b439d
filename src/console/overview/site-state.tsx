// The state of a site at a glance: the worst of its lines, and below it each line with what to do about it.

import GoodIcon from "@mui/icons-material/CheckCircle";
import ErrorIcon from "@mui/icons-material/Error";
import InfoIcon from "@mui/icons-material/Info";
import WarningIcon from "@mui/icons-material/Warning";
import {
  Box,
  Button,
  Card,
  Dialog,
  DialogActions,
  DialogContent,
  DialogTitle,
  List,
  ListItem,
  Stack,
  Link as TextLink,
  Typography,
} from "@mui/material";
import { useId, useState } from "react";
import type { OverviewResponse } from "../../admin/api/types.ts";
import { Link } from "../shell/router.tsx";
import { useDeclared } from "../shell/site-context.ts";
import { serverNow } from "../text/server-time.ts";
import { toAgo } from "../text/times.ts";
import { translate } from "../text/translate.ts";
import { type Concern, type Known, useConcerns } from "./concerns.ts";

const icons = { error: ErrorIcon, warning: WarningIcon, info: InfoIcon } as const;

/** Shows the worst level of all matters, and each matter with its button. */
export function SiteState(known: Known) {
  const concerns = useConcerns(known);
  const [isBackupShown, setBackupShown] = useState(false);
  const worst = concerns[0]?.level;
  const Icon = worst ? icons[worst] : GoodIcon;
  const count = { smart_count: concerns.length };
  return (
    <Card sx={{ mb: 2 }}>
      <Stack direction="row" spacing={1.5} sx={{ p: 2, alignItems: "center" }}>
        <Icon color={worst ?? "success"} fontSize="large" />
        <Box>
          <Typography component="h2" variant="h6" sx={{ lineHeight: 1.3 }}>
            {worst
              ? translate(worst === "info" ? "overview.hints" : "overview.concerns", count)
              : translate("overview.well")}
          </Typography>
          <Typography variant="body2" color="textSecondary">
            <Facts overview={known.overview} />
          </Typography>
        </Box>
      </Stack>
      {concerns.length > 0 && (
        <List disablePadding>
          {concerns.map((concern) => (
            <ConcernLine key={concern.name} concern={concern} onBackup={() => setBackupShown(true)} />
          ))}
        </List>
      )}
      {isBackupShown && <BackupDialog onClose={() => setBackupShown(false)} />}
    </Card>
  );
}

interface ConcernLineProps {
  readonly concern: Concern;
  readonly onBackup: () => void;
}

/** One matter with its button, which is below the text on a phone. */
function ConcernLine({ concern: { text, level, to, action }, onBackup }: ConcernLineProps) {
  const Icon = icons[level];
  const look = { size: "small", variant: "outlined", "aria-label": `${action}: ${text}` } as const;
  const place = { flexShrink: 0, ml: { xs: 4, sm: 0 } };
  return (
    <ListItem sx={lineStyle}>
      <Icon color={level} fontSize="small" titleAccess={translate(`overview.level_${level}`)} />
      <Typography
        variant="body2"
        sx={{ flex: { xs: "1 1 calc(100% - 32px)", sm: "1 1 0" }, minWidth: 0, overflowWrap: "anywhere" }}
      >
        {text}
      </Typography>
      {to ? (
        <Button component={Link} to={to} sx={place} {...look}>
          {action}
        </Button>
      ) : (
        <Button onClick={onBackup} sx={place} {...look}>
          {action}
        </Button>
      )}
    </ListItem>
  );
}

const lineStyle = {
  columnGap: 1.5,
  rowGap: 0.5,
  flexWrap: { xs: "wrap", sm: "nowrap" },
  borderTop: 1,
  borderColor: "divider",
  px: 2,
  py: 0.75,
  minHeight: 48,
} as const;

/** Shows the numbers of valid keys and webhooks, and the time of the last backup, in one line. */
function Facts({ overview: { validKeys, webhooks, lastBackup } }: { readonly overview: OverviewResponse }) {
  const facts = [
    translate("overview.valid_keys", { smart_count: validKeys }),
    translate("overview.webhooks", { smart_count: webhooks.length }),
    lastBackup && translate("overview.last_backup", { time: toAgo(lastBackup, serverNow()) }),
  ];
  return facts.filter(Boolean).join(" · ");
}

/** Explains how a backup is made: only who runs the server can do it. */
function BackupDialog({ onClose }: { readonly onClose: () => void }) {
  const { publicUrl } = useDeclared();
  const titleId = useId();
  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="xs" aria-labelledby={titleId}>
      <DialogTitle id={titleId}>{translate("overview.backup_title")}</DialogTitle>
      <DialogContent>
        <Typography>{translate("overview.backup_explain")}</Typography>
        <Box component="code" sx={{ display: "block", my: 2, p: 1, borderRadius: 1, bgcolor: "action.hover" }}>
          storefront backup shops.backup
        </Box>
        <Typography>
          {translate("overview.backup_daily")}{" "}
          <TextLink href={`${publicUrl}/docs/operating/backup`} target="_blank" rel="noreferrer">
            {translate("overview.backup_guide")}
          </TextLink>
        </Typography>
      </DialogContent>
      <DialogActions>
        <Button onClick={onClose}>{translate("general.close")}</Button>
      </DialogActions>
    </Dialog>
  );
}
