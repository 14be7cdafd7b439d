// The state of a site at a glance: one sentence, and a list of matters that need attention, with links to their pages.

import GoodIcon from "@mui/icons-material/CheckCircle";
import InfoIcon from "@mui/icons-material/Info";
import WarningIcon from "@mui/icons-material/Warning";
import { Box, Button, Card, List, ListItem, Stack, Typography } from "@mui/material";
import type { OverviewResponse } from "../../admin/api/types.ts";
import { Link } from "../shell/router.tsx";
import { serverNow } from "../text/server-time.ts";
import { toAgo } from "../text/times.ts";
import { translate } from "../text/translate.ts";
import { useConcerns } from "./concerns.ts";

export function SiteState({ overview }: { readonly overview: OverviewResponse }) {
  const concerns = useConcerns(overview);
  const warnings = concerns.filter(({ isWarning }) => isWarning).length;
  const Icon = warnings > 0 ? WarningIcon : GoodIcon;
  return (
    <Card sx={{ mb: 2 }}>
      <Stack direction="row" spacing={1.5} sx={{ p: 2, alignItems: "center" }}>
        <Icon color={warnings > 0 ? "warning" : "success"} fontSize="large" />
        <Box>
          <Typography component="h2" variant="h6" sx={{ lineHeight: 1.3 }}>
            {warnings > 0 ? translate("overview.concerns", { smart_count: warnings }) : translate("overview.well")}
          </Typography>
          <Typography variant="body2" color="textSecondary">
            <Facts overview={overview} />
          </Typography>
        </Box>
      </Stack>
      {concerns.length > 0 && (
        <List disablePadding>
          {concerns.map(({ name, text, isWarning, to, action }) => (
            <ListItem key={name} sx={concernStyle}>
              {isWarning ? (
                <WarningIcon color="warning" fontSize="small" />
              ) : (
                <InfoIcon color="info" fontSize="small" />
              )}
              <Typography
                variant="body2"
                sx={{ flex: { xs: "1 1 calc(100% - 32px)", sm: "1 1 0" }, minWidth: 0, overflowWrap: "anywhere" }}
              >
                {text}
              </Typography>
              {to && (
                <Button
                  component={Link}
                  to={to}
                  size="small"
                  sx={{ flexShrink: 0, ml: { xs: 3, sm: 0 } }}
                  aria-label={`${action}: ${text}`}
                >
                  {action}
                </Button>
              )}
            </ListItem>
          ))}
        </List>
      )}
    </Card>
  );
}

/** The style of one matter. On a phone, its button is below the text. */
const concernStyle = {
  columnGap: 1.5,
  flexWrap: { xs: "wrap", sm: "nowrap" },
  borderTop: 1,
  borderColor: "divider",
  px: 2,
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
