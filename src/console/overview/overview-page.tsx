import { Alert, Box, Card, CardActionArea, CardContent, Stack, Typography } from "@mui/material";
import type { ReactNode } from "react";
import { useTranslate } from "react-admin";
import { Link } from "react-router-dom";
import { HistoryList } from "../history/history-list.tsx";
import { PageTitle } from "../shell/page-title.tsx";
import { useDeclared, useSite } from "../site-context.ts";
import { toDay, toMoment, withMoments } from "../times.ts";
import { type SiteOverview, useOverview } from "./overview.ts";
import { Traffic } from "./traffic.tsx";

/** Milliseconds after which a backup is old. */
const oldBackup = 2 * 24 * 60 * 60_000;

/** Whether all is well, and what happened last. */
export function OverviewPage() {
  const translate = useTranslate();
  const overview = useOverview();
  return (
    <Box sx={{ mt: 2 }}>
      <PageTitle title={translate("overview.title")} />
      {overview && <Warnings overview={overview} />}
      {overview && <Counts overview={overview} />}
      <Traffic />
      <Typography component="h2" variant="h6" sx={{ mb: 1 }}>
        {translate("overview.changes")}
      </Typography>
      <Card>
        <HistoryList filter={{}} max={10} />
      </Card>
    </Box>
  );
}

function Warnings({ overview: { endingKeys, webhooks, lastBackup } }: { readonly overview: SiteOverview }) {
  const translate = useTranslate();
  const site = useSite();
  const bad = webhooks.filter(({ status }) => status === "failing" || status === "incomplete");
  const isOld = lastBackup === null || Date.now() - Date.parse(lastBackup) > oldBackup;
  return (
    <Stack spacing={1} sx={{ mb: 3 }}>
      {bad.map(({ id, url, status, detail }) => (
        <Warning key={id} to={`/${site}/webhooks`}>
          {translate("overview.webhook", { url, status: translate(`webhooks.${status}`), detail: withMoments(detail) })}
        </Warning>
      ))}
      {endingKeys.map(({ id, label, prefix, ends }) => (
        <Warning key={id} to={`/${site}/keys`}>
          {translate("overview.key", { key: label || prefix, day: toDay(ends) })}
        </Warning>
      ))}
      {isOld && (
        <Alert severity="info">
          {lastBackup === null
            ? translate("overview.no_backup")
            : translate("overview.old_backup", { time: toMoment(lastBackup) })}
        </Alert>
      )}
    </Stack>
  );
}

function Warning({ to, children }: { readonly to: string; readonly children: ReactNode }) {
  return (
    <Alert severity="warning">
      <Link to={to} style={{ color: "inherit" }}>
        {children}
      </Link>
    </Alert>
  );
}

function Counts({ overview: { records, validKeys } }: { readonly overview: SiteOverview }) {
  const translate = useTranslate();
  const site = useSite();
  const { resources } = useDeclared();
  return (
    <Box sx={{ display: "grid", gap: 2, mb: 3, gridTemplateColumns: "repeat(auto-fit, minmax(140px, 1fr))" }}>
      {resources.map(({ path, plural }) => (
        <Count key={path} to={`/${site}/${path}`} count={records[path] ?? 0} what={plural} />
      ))}
      <Count to={`/${site}/keys`} count={validKeys} what={translate("overview.keys")} />
    </Box>
  );
}

function Count({ to, count, what }: { readonly to: string; readonly count: number; readonly what: string }) {
  return (
    <Card>
      <CardActionArea component={Link} to={to}>
        <CardContent>
          <Typography variant="h5" component="p">
            {count.toLocaleString()}
          </Typography>
          <Typography color="textSecondary">{what}</Typography>
        </CardContent>
      </CardActionArea>
    </Card>
  );
}
