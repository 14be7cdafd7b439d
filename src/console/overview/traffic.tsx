// Four plots of the server: requests, writes, errors, and response times.

import { Box, Typography } from "@mui/material";
import type { TrafficPointInfo } from "../../admin/api/types.ts";
import { ReadFailed } from "../shell/query-result.tsx";
import { locale, toNumber } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { useTraffic } from "./overview.ts";
import { Plot } from "./plot.tsx";

const rate = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 });
const toMilliseconds = (value: number) =>
  `${new Intl.NumberFormat(locale, { maximumSignificantDigits: 2 }).format(value)} ms`;

/** Plots the traffic of the server in the last hour. */
export function Traffic() {
  const { data: points, error, refetch } = useTraffic();
  if (error && !points) return <ReadFailed error={error} onRetry={refetch} />;
  if (!points) return null;
  const line = (pick: (point: TrafficPointInfo) => number | null) =>
    points.map((point) => ({ at: Date.parse(point.at), value: pick(point) }));
  const errors = points.reduce((sum, point) => sum + point.errors, 0);
  return (
    <Box component="section" sx={{ mb: 3 }}>
      <Typography component="h2" variant="h6">
        {translate("overview.traffic")}
      </Typography>
      <Typography variant="body2" color="textSecondary" sx={{ mb: 1 }}>
        {translate(points.length === 0 ? "overview.no_traffic" : "overview.traffic_explain")}
      </Typography>
      <Box sx={{ display: "grid", gap: 2, gridTemplateColumns: { xs: "1fr", sm: "1fr 1fr", lg: "repeat(4, 1fr)" } }}>
        <Plot
          title={translate("overview.requests")}
          format={rate.format}
          lines={[{ name: "", points: line(({ requests, seconds }) => requests / seconds), color: "primary" }]}
        />
        <Plot
          title={translate("overview.writes")}
          format={rate.format}
          lines={[{ name: "", points: line(({ writes, seconds }) => writes / seconds), color: "success" }]}
        />
        <Plot
          title={translate("overview.errors")}
          format={rate.format}
          lines={[
            {
              name: "",
              points: line((point) => (point.errors / point.seconds) * 60),
              color: errors > 0 ? "error" : "grey",
              figure: translate("overview.errors_sum", { count: toNumber(errors) }),
            },
          ]}
        />
        <Plot
          title={translate("overview.latency")}
          format={toMilliseconds}
          lines={[
            { name: translate("overview.p50"), points: line(({ p50 }) => p50), color: "primary" },
            { name: translate("overview.p99"), points: line(({ p99 }) => p99), color: "warning" },
          ]}
        />
      </Box>
    </Box>
  );
}
