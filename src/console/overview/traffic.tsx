// API requests to the site, by key, and to the whole server.

import { Box, Button, Card, Stack, ToggleButton, ToggleButtonGroup, Typography } from "@mui/material";
import { useState } from "react";
import type { KeyTrafficInfo, KeyTrafficResponse, TrafficPointInfo, TrafficResponse } from "../../admin/api/types.ts";
import { labelOfKey, requestsOfKeyPath, useKeyTraffic } from "../keys/keys.ts";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { ReadFailed } from "../shell/query-result.tsx";
import { Link } from "../shell/router.tsx";
import { useSession, useSiteName } from "../shell/site-context.ts";
import { useRead } from "../shell/site-data.ts";
import { useStored } from "../shell/stored.ts";
import { locale, toNumber } from "../text/locale.ts";
import { serverNow } from "../text/server-time.ts";
import { toMoment, When } from "../text/times.tsx";
import { showInvisible, translate } from "../text/translate.ts";
import { Chart } from "./chart.tsx";

const [hourMs, dayMs] = [3_600_000, 86_400_000];

/** How far back the server's charts go, their step, and the milliseconds between two reads. */
const spans = {
  hour: { length: hourMs, step: 20_000, intervalMs: 10_000 },
  day: { length: dayMs, step: 300_000, intervalMs: 60_000 },
} as const;
type TrafficSpan = keyof typeof spans;

/** Reads the server's traffic, but only for operators of all sites, because others can't see it. */
export function useTraffic(span: TrafficSpan) {
  const { sites } = useSession();
  return useRead<TrafficResponse, TrafficResponse["points"]>(`/traffic?span=${span}`, {
    select: ({ points }) => points,
    refetchInterval: spans[span].intervalMs,
    enabled: sites === null,
  });
}

interface SiteTrafficProps {
  /** Number of active keys. */
  readonly validKeys: number;
}

/** The site's requests in the last day, by hour and by key. */
export function SiteTraffic({ validKeys }: SiteTrafficProps) {
  const siteName = useSiteName();
  const { data, error, refetch } = useKeyTraffic();
  return (
    <Box component="section" sx={{ mb: 3 }}>
      <SectionTitle title={translate("overview.site_traffic")}>
        <Button component={Link} to={`/${siteName}/requests`} size="small">
          {translate("overview.last_requests")}
        </Button>
      </SectionTitle>
      {error && !data && <ReadFailed error={error} onRetry={refetch} />}
      {data && (
        <Box
          sx={{
            display: "grid",
            gap: 2,
            gridTemplateColumns: { xs: "minmax(0, 1fr)", md: "repeat(2, minmax(0, 1fr))" },
          }}
        >
          <SiteChart traffic={data} validKeys={validKeys} />
          <KeyTable traffic={data} />
        </Box>
      )}
    </Box>
  );
}

function SiteChart({ traffic: { keys, hours, since }, validKeys }: SiteTrafficProps & KeyTableProps) {
  const sumAt = (lists: readonly (readonly number[])[], index: number) =>
    lists.reduce((sum, list) => sum + (list[index] ?? 0), 0);
  const pointsOf = (lists: readonly (readonly number[])[]) =>
    hours.map((at, index) => ({ at: Date.parse(at), value: sumAt(lists, index) }));
  const total = (pick: (key: KeyTrafficInfo) => number) => keys.reduce((sum, key) => sum + pick(key), 0);
  const [requests, errors] = [total((key) => key.requests), total((key) => key.errors)];
  const start = Date.parse(hours[0] ?? "");
  const counted = Date.parse(since) > start ? translate("overview.counted_since", { time: toMoment(since) }) : "";
  const isIdle = requests === 0 && counted === "";
  const hint = validKeys === 0 ? translate("overview.no_key") : isIdle ? translate("overview.no_requests") : "";
  return (
    <Chart
      title={translate("overview.requests_by_hour")}
      shape="bars"
      span={{ start, end: start + dayMs }}
      stepMs={hourMs}
      times={5}
      format={(value) => toNumber(Math.round(value))}
      series={[
        {
          name: translate("overview.requests_name", { smart_count: requests }),
          points: pointsOf(keys.map((key) => key.requestsByHour)),
          color: "primary",
          figure: toNumber(requests),
        },
        {
          name: translate("overview.errors_name", { smart_count: errors }),
          points: pointsOf(keys.map((key) => key.errorsByHour)),
          color: errors > 0 ? "error" : "grey",
          figure: toNumber(errors),
        },
      ]}
      explain={
        (hint || counted) && (
          <Typography variant="body2" color="textSecondary">
            {[hint, counted].filter(Boolean).join(" ")}
          </Typography>
        )
      }
    />
  );
}

interface KeyTableProps {
  readonly traffic: KeyTrafficResponse;
}

const maxKeys = 6;

const keyColumns: readonly DataColumn<KeyTrafficInfo>[] = [
  {
    name: "key",
    label: translate("keys.key"),
    isPrimary: true,
    render: labelOfKey,
  },
  {
    name: "requests",
    label: translate("requests.title"),
    align: "right",
    render: ({ requests }) => toNumber(requests),
  },
  {
    name: "errors",
    label: translate("overview.key_errors_column"),
    align: "right",
    render: ({ errors }) =>
      errors > 0 ? (
        <Box component="span" sx={{ color: "error.main" }}>
          {toNumber(errors)}
        </Box>
      ) : (
        "0"
      ),
  },
  {
    name: "last",
    label: translate("overview.key_last"),
    align: "right",
    render: ({ lastUsed }) => (lastUsed ? <When at={lastUsed} /> : "–"),
  },
];

/** The keys used in the last day, busiest first. Each links to its requests. */
function KeyTable({ traffic: { keys } }: KeyTableProps) {
  const siteName = useSiteName();
  return (
    <Box sx={{ minWidth: 0, display: "flex", flexDirection: "column", "& > :first-of-type": { flexGrow: 1 } }}>
      <DataList
        label={translate("overview.keys_label")}
        rows={keys.slice(0, maxKeys)}
        columns={keyColumns}
        rowKey={({ id }) => id}
        nameOf={({ label, prefix }) => showInvisible(label) || prefix}
        hrefOf={({ prefix }) => requestsOfKeyPath(siteName, prefix)}
        empty={
          <Card sx={{ p: 2, height: "100%" }}>
            <Typography component="h3" variant="body2" color="textSecondary">
              {translate("overview.keys_label")}
            </Typography>
            <Typography variant="body2" sx={{ mt: 1 }}>
              {translate("overview.no_key_requests")}
            </Typography>
          </Card>
        }
      />
    </Box>
  );
}

const rate = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 });
const milliseconds = new Intl.NumberFormat(locale, { maximumSignificantDigits: 2 });

/** Requests to the whole server in the last hour or day, for operators of all sites. */
export function ServerTraffic() {
  const { sites } = useSession();
  const [span, setSpan] = useStored<string>("traffic-span", "hour");
  const chosen: TrafficSpan = span === "day" ? "day" : "hour";
  const { data: points, error, refetch } = useTraffic(chosen);
  if (sites !== null) return null;
  return (
    <Box component="section" sx={{ mb: 3 }}>
      <SectionTitle title={translate("overview.traffic")}>
        <ToggleButtonGroup
          exclusive
          size="small"
          value={chosen}
          onChange={(_event, value: TrafficSpan | null) => value && setSpan(value)}
          aria-label={translate("overview.span")}
        >
          <ToggleButton value="hour">{translate("overview.span_hour")}</ToggleButton>
          <ToggleButton value="day">{translate("overview.span_day")}</ToggleButton>
        </ToggleButtonGroup>
      </SectionTitle>
      <Typography variant="body2" color="textSecondary" sx={{ mb: 1 }}>
        {translate(points && points.length === 0 ? `overview.no_traffic_${chosen}` : "overview.traffic_explain")}
      </Typography>
      {error && !points && <ReadFailed error={error} onRetry={refetch} />}
      {(points || !error) && <ServerCharts points={points ?? []} span={chosen} />}
    </Box>
  );
}

interface ServerChartsProps {
  readonly points: readonly TrafficPointInfo[];
  readonly span: TrafficSpan;
}

/** Four charts: requests, writes, errors, and response times. */
function ServerCharts({ points, span }: ServerChartsProps) {
  const [opened] = useState(serverNow);
  const line = (pick: (point: TrafficPointInfo) => number | null) =>
    points.map((point) => ({ at: Date.parse(point.at), value: pick(point) }));
  const errors = points.reduce((sum, point) => sum + point.errors, 0);
  const end = Date.parse(points.at(-1)?.at ?? "") || opened;
  const time = { span: { start: end - spans[span].length, end }, stepMs: spans[span].step };
  return (
    <Box sx={{ display: "grid", gap: 2, gridTemplateColumns: { xs: "1fr", sm: "1fr 1fr", lg: "repeat(4, 1fr)" } }}>
      <Chart
        title={translate("overview.requests")}
        format={rate.format}
        series={[{ name: "", points: line(({ requests, seconds }) => requests / seconds), color: "primary" }]}
        {...time}
      />
      <Chart
        title={translate("overview.writes")}
        format={rate.format}
        series={[{ name: "", points: line(({ writes, seconds }) => writes / seconds), color: "success" }]}
        {...time}
      />
      <Chart
        title={translate("overview.errors")}
        format={rate.format}
        series={[
          {
            name: "",
            points: line((point) => (point.errors / point.seconds) * 60),
            color: errors > 0 ? "error" : "grey",
            figure: translate(`overview.errors_sum_${span}`, { count: toNumber(errors) }),
          },
        ]}
        {...time}
      />
      <Chart
        title={translate("overview.latency")}
        format={(value) => `${milliseconds.format(value)} ms`}
        series={[
          { name: translate("overview.p50"), points: line(({ p50 }) => p50), color: "primary" },
          { name: translate("overview.p99"), points: line(({ p99 }) => p99), color: "warning" },
        ]}
        {...time}
      />
    </Box>
  );
}

interface SectionTitleProps {
  readonly title: string;
  readonly children: React.ReactNode;
}

export function SectionTitle({ title, children }: SectionTitleProps) {
  return (
    <Stack
      direction="row"
      useFlexGap
      spacing={1}
      sx={{ minHeight: 40, mb: 0.5, alignItems: "center", flexWrap: "wrap", "& > .MuiButton-text": { mx: -1.25 } }}
    >
      <Typography component="h2" variant="subtitle1" sx={{ flexGrow: 1 }}>
        {title}
      </Typography>
      {children}
    </Stack>
  );
}
