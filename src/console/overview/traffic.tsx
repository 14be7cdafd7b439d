import { Box, Typography } from "@mui/material";
import { useTranslate } from "react-admin";
import { type TrafficPoint, useTraffic } from "./overview.ts";
import { Plot } from "./plot.tsx";

const count = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const toMilliseconds = (value: number) =>
  `${new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 }).format(value)} ms`;

/** What the server did in the last hour. */
export function Traffic() {
  const translate = useTranslate();
  const points = useTraffic();
  if (!points) return null;
  const rate = (pick: (point: TrafficPoint) => number) => points.map((point) => pick(point) / point.seconds);
  const hasErrors = points.some(({ errors }) => errors > 0);
  return (
    <Box component="section" sx={{ mb: 3 }}>
      <Typography component="h2" variant="h6" sx={{ mb: 1 }}>
        {translate("overview.traffic")}
      </Typography>
      {points.length === 0 && <Typography>{translate("overview.no_traffic")}</Typography>}
      <Box sx={{ display: "grid", gap: 2, gridTemplateColumns: { xs: "1fr", sm: "1fr 1fr", lg: "repeat(4, 1fr)" } }}>
        <Plot
          title={translate("overview.requests")}
          format={count.format}
          lines={[{ label: "", values: rate(({ requests }) => requests), color: "primary" }]}
        />
        <Plot
          title={translate("overview.writes")}
          format={count.format}
          lines={[{ label: "", values: rate(({ writes }) => writes), color: "success" }]}
        />
        <Plot
          title={translate("overview.errors")}
          format={count.format}
          lines={[{ label: "", values: rate(({ errors }) => errors), color: hasErrors ? "error" : "grey" }]}
        />
        <Plot
          title={translate("overview.latency")}
          format={toMilliseconds}
          lines={[
            { label: "p50", values: points.map(({ p50 }) => p50), color: "primary" },
            { label: "p99", values: points.map(({ p99 }) => p99), color: "warning" },
          ]}
        />
      </Box>
    </Box>
  );
}
