// A site's first page: whether all is well, how many records it has, its traffic and its latest changes. A site without records also shows the first
// steps.

import {
  Box,
  Button,
  Card,
  CardActionArea,
  CardContent,
  List,
  ListItem,
  ListItemText,
  Skeleton,
  Stack,
  Typography,
} from "@mui/material";
import { useState } from "react";
import type { OverviewResponse } from "../../admin/api/types.ts";
import { useHistory } from "../history/history.ts";
import { HistoryList } from "../history/history-list.tsx";
import { useKeyTraffic } from "../keys/keys.ts";
import { DoneIcon, type IconComponent, iconOf, KeyIcon, TodoIcon } from "../shell/icons.tsx";
import { Page } from "../shell/page.tsx";
import { LoadingLines, ReadFailed } from "../shell/query-result.tsx";
import { Link } from "../shell/router.tsx";
import { useCan, useDeclared, useSiteName } from "../shell/site-context.ts";
import { useRead, useSitePath } from "../shell/site-data.ts";
import { toNumber } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { hasRecords, SiteState } from "./site-state.tsx";
import { SectionTitle, ServerTraffic, SiteTraffic, useTraffic } from "./traffic.tsx";

const intervalMs = 10_000;
const maxChanges = 8;

export function OverviewPage() {
  const overview = useRead<OverviewResponse>(useSitePath("/overview"), { refetchInterval: intervalMs });
  const [keyTraffic, traffic] = [useKeyTraffic(), useTraffic("hour")];
  const { data, error, refetch } = overview;
  // All parts appear together, so that none pushes another one down.
  const isLoading = [overview, keyTraffic, traffic, useHistory({}, maxChanges)].some((query) => query.isLoading);
  const siteName = useSiteName();
  // When a failed read is repeated, the page stays.
  const [shownSite, setShownSite] = useState("");
  const isShown = shownSite === siteName;
  if (!isLoading && !isShown) setShownSite(siteName);
  return (
    <Page title={translate("overview.title")}>
      {!isShown && <Placeholder />}
      {/* The parts are already there while they're hidden. If they came later, they would read their data a second time. */}
      <Box sx={isShown ? undefined : { display: "none" }}>
        {data ? (
          <>
            <SiteState overview={data} keyTraffic={keyTraffic.data} traffic={traffic.data} />
            <FirstSteps overview={data} />
            <Counts overview={data} />
          </>
        ) : (
          <Card sx={{ mb: 2 }}>{error ? <ReadFailed error={error} onRetry={refetch} /> : <LoadingLines />}</Card>
        )}
        <SiteTraffic validKeys={data?.validKeys ?? 0} />
        <LatestChanges />
        <ServerTraffic />
      </Box>
    </Page>
  );
}

function Placeholder() {
  return (
    <Stack role="progressbar" aria-label={translate("general.loading")} spacing={2}>
      {[74, 88, 200, 200].map((height, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the areas keep their places
        <Skeleton key={index} variant="rounded" height={height} />
      ))}
    </Stack>
  );
}

function LatestChanges() {
  const siteName = useSiteName();
  return (
    <Box component="section" sx={{ mb: 3 }}>
      <SectionTitle title={translate("overview.changes")}>
        <Button component={Link} to={`/${siteName}/history`} size="small">
          {translate("overview.all_changes")}
        </Button>
      </SectionTitle>
      <Card>
        <HistoryList filter={{}} max={maxChanges} />
      </Card>
    </Box>
  );
}

function Counts({ overview: { records, validKeys } }: { readonly overview: OverviewResponse }) {
  const siteName = useSiteName();
  const { resources } = useDeclared();
  return (
    <Box
      sx={{
        display: "grid",
        gap: { xs: 1.5, sm: 2 },
        mb: 3,
        gridTemplateColumns: "repeat(auto-fit, minmax(140px, 1fr))",
      }}
    >
      {resources.map(({ path, name, plural }) => (
        <Count key={path} to={`/${siteName}/${path}`} count={records[path] ?? 0} what={plural} Icon={iconOf(name)} />
      ))}
      {useCan("read-settings") && (
        <Count to={`/${siteName}/keys`} count={validKeys} what={translate("overview.keys")} Icon={KeyIcon} />
      )}
    </Box>
  );
}

interface CountProps {
  readonly to: string;
  readonly count: number;
  readonly what: string;
  readonly Icon: IconComponent;
}

function Count({ to, count, what, Icon }: CountProps) {
  return (
    <Card>
      <CardActionArea component={Link} to={to} sx={countStyle}>
        <Typography variant="h5" component="p" sx={{ mt: 0.5, fontVariantNumeric: "tabular-nums" }}>
          {toNumber(count)}
        </Typography>
        <Stack direction="row" spacing={1} sx={{ alignItems: "center", color: "text.secondary" }}>
          <Typography variant="body2" sx={whatStyle}>
            {what}
          </Typography>
          <Icon sx={{ fontSize: 18, opacity: 0.7 }} />
        </Stack>
      </CardActionArea>
    </Card>
  );
}

/** Screen readers read "19 brands", while the number is shown below its heading. */
const countStyle = { display: "flex", flexDirection: "column-reverse", alignItems: "stretch", px: 2, py: 1.5 } as const;
const whatStyle = { flexGrow: 1, fontWeight: 500, "&::first-letter": { textTransform: "uppercase" } } as const;

function FirstSteps({ overview: { records, validKeys, webhooks } }: { readonly overview: OverviewResponse }) {
  const siteName = useSiteName();
  const [canFill, canCreate] = [useCan("records"), useCan("settings")];
  const all = [
    { name: "records", to: `/${siteName}/import`, isDone: false, isAllowed: canFill },
    { name: "key", to: `/${siteName}/keys`, isDone: validKeys > 0, isAllowed: canCreate },
    { name: "webhook", to: `/${siteName}/webhooks`, isDone: webhooks.length > 0, isAllowed: canCreate },
  ] as const;
  const steps = all.filter(({ isAllowed }) => isAllowed);
  if (hasRecords(records) || steps.length === 0) return null;
  return (
    <Card sx={{ mb: 2 }}>
      <CardContent sx={{ pb: 0 }}>
        <Typography component="h2" variant="subtitle1">
          {translate("overview.first_steps")}
        </Typography>
      </CardContent>
      <List>
        {steps.map(({ name, to, isDone }) => (
          <ListItem key={name} sx={{ gap: 1.5 }}>
            {isDone ? <DoneIcon color="success" /> : <TodoIcon color="disabled" />}
            <ListItemText
              primary={translate(`overview.step_${name}`)}
              secondary={translate(`overview.step_${name}_explain`)}
            />
            <Button component={Link} to={to} variant="outlined" size="small" sx={{ flexShrink: 0 }}>
              {translate(`overview.step_${name}_action`)}
            </Button>
          </ListItem>
        ))}
      </List>
    </Card>
  );
}
