// A chart of values over time, drawn as SVG, with a table for screen readers. chart-scale.ts calculates the coordinates.

import { Box, Card, type Palette, Stack, Typography, useTheme } from "@mui/material";
import { type PointerEvent, type ReactNode, useState } from "react";
import { forScreenReaders } from "../shell/theme.ts";
import { toHour } from "../text/times.tsx";
import { translate } from "../text/translate.ts";
import {
  type ChartPoint,
  height,
  highestValues,
  nearest,
  roundMax,
  type Span,
  toArea,
  toBars,
  toLine,
  toX,
  width,
} from "./chart-scale.ts";

interface ChartSeries {
  /** Empty if the chart has only one series. */
  readonly name: string;
  readonly points: readonly ChartPoint[];
  readonly color: "primary" | "error" | "success" | "warning" | "grey";
  /** The number to show for the series; by default its latest value. */
  readonly figure?: string;
}

interface ChartProps {
  readonly title: string;
  readonly series: readonly ChartSeries[];
  readonly span: Span;
  /** Milliseconds between two points. */
  readonly stepMs: number;
  /** With bars, a point is the sum over the step that starts at its time, and the series overlap. */
  readonly shape?: "line" | "bars";
  readonly format: (value: number) => string;
  /** The number of time labels below the chart. */
  readonly times?: number;
  /** A sentence between the title and the chart. */
  readonly explain?: ReactNode;
}

/** A card with a chart, and a number for each series. Its height doesn't depend on the data. */
export function Chart({ explain, ...props }: ChartProps) {
  const { title, series, format } = props;
  const { palette } = useTheme();
  return (
    <Card sx={{ minWidth: 0, p: 2, pb: 1.5 }}>
      <Typography component="h3" variant="body2" color="textSecondary" noWrap sx={{ fontWeight: 500 }}>
        {title}
      </Typography>
      <Stack
        direction="row"
        useFlexGap
        sx={{ columnGap: 1, minHeight: 32, alignItems: "baseline", overflow: "hidden", ...legend }}
      >
        {series.map((one) => (
          <Typography
            key={one.name}
            component="p"
            sx={{ color: toColor(palette, one.color), fontSize: 18, fontWeight: 600, ...numbers, whiteSpace: "nowrap" }}
          >
            {one.figure ?? latest(one, format)}{" "}
            <Typography component="span" variant="body2" color="textSecondary">
              {one.name}
            </Typography>
          </Typography>
        ))}
      </Stack>
      {explain}
      <ChartArea {...props} />
      <ChartTable {...props} />
    </Card>
  );
}

/** Colours alone don't tell series apart in forced colours, in print, or for everyone, so all but the first are dashed. */
const legend = {
  "& > p:not(:only-child)": { borderBottom: "2px solid" },
  "& > p + p:not(:only-child)": { borderBottomStyle: "dashed" },
};
const numbers = { fontVariantNumeric: "tabular-nums" } as const;
const caption = { fontSize: 11, lineHeight: "16px", color: "text.secondary", ...numbers } as const;

/** Returns the latest value as text, or a dash if there is none yet. */
function latest({ points }: ChartSeries, format: (value: number) => string): string {
  const value = points.findLast((point) => point.value !== null)?.value;
  return typeof value === "number" ? format(value) : "–";
}

function ChartArea({ series, span, stepMs, shape = "line", format, times = 3 }: ChartProps) {
  const [pointed, setPointed] = useState<number>();
  const max = roundMax(series.flatMap(({ points }) => points.flatMap(({ value }) => value ?? [])));
  const at = (share: number) => span.start + (span.end - span.start) * share;
  const onPointerMove = ({ clientX, currentTarget }: PointerEvent) => {
    const { left, width: shown } = currentTarget.getBoundingClientRect();
    setPointed(at((clientX - left) / shown));
  };
  return (
    <Box aria-hidden sx={{ display: "grid", gridTemplateColumns: "auto 1fr", columnGap: 0.75 }}>
      <Box
        sx={{
          gridColumn: 2,
          display: "flex",
          gap: 1,
          height: 16,
          overflow: "hidden",
          whiteSpace: "nowrap",
          ...caption,
        }}
      >
        {pointed !== undefined && <PointedValues series={series} at={pointed} stepMs={stepMs} format={format} />}
      </Box>
      <Stack sx={{ justifyContent: "space-between", textAlign: "right", my: "-8px", ...caption }}>
        <span>{format(max)}</span>
        <span>{format(0)}</span>
      </Stack>
      <Box onPointerMove={onPointerMove} onPointerLeave={() => setPointed(undefined)} sx={{ touchAction: "pan-y" }}>
        <Drawing series={series} span={span} stepMs={stepMs} shape={shape} max={max} pointed={pointed} />
      </Box>
      <Box sx={{ gridColumn: 2, display: "flex", justifyContent: "space-between", mt: 0.5, ...caption }}>
        {Array.from({ length: times }, (_, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the times keep their places
          <span key={index}>{index === times - 1 ? translate("overview.now") : toHour(at(index / (times - 1)))}</span>
        ))}
      </Box>
    </Box>
  );
}

interface DrawingProps extends Pick<ChartProps, "series" | "span" | "stepMs" | "shape"> {
  readonly max: number;
  readonly pointed: number | undefined;
}

function Drawing({ series, span, stepMs, shape, max, pointed }: DrawingProps) {
  const { palette } = useTheme();
  const x = pointed === undefined ? undefined : toX(pointed, span);
  return (
    <Box
      component="svg"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      sx={{ width: "100%", height: 96, display: "block" }}
    >
      <path
        d={[1, height / 2, height - 1].map((y) => `M0 ${y}H${width}`).join("")}
        stroke={palette.divider}
        {...unscaled}
      />
      {x !== undefined && <path d={`M${x} 0V${height}`} stroke={palette.text.secondary} {...unscaled} />}
      {series.map(({ name, points, color }, index) => (
        <g key={name} strokeDasharray={index === 0 ? "none" : "4 3"} stroke={palette.background.paper}>
          {shape === "bars" ? (
            <path d={toBars(points, max, span, stepMs)} fill={toColor(palette, color)} {...unscaled} />
          ) : (
            <LineWithArea line={toLine(points, max, span, stepMs)} color={toColor(palette, color)} />
          )}
        </g>
      ))}
    </Box>
  );
}

/** Keeps lines equally wide at any size. */
const unscaled = { vectorEffect: "non-scaling-stroke" } as const;

interface LineWithAreaProps {
  /** An SVG path. */
  readonly line: string;
  readonly color: string;
}

function LineWithArea({ line, color }: LineWithAreaProps) {
  return (
    <g fill={color} stroke={color}>
      <path d={toArea(line)} stroke="none" opacity={0.1} />
      <path d={line} fill="none" strokeWidth={2} strokeLinecap="round" strokeLinejoin="round" {...unscaled} />
    </g>
  );
}

interface PointedValuesProps extends Pick<ChartProps, "series" | "stepMs" | "format"> {
  readonly at: number;
}

function PointedValues({ series, at, stepMs, format }: PointedValuesProps) {
  const { palette } = useTheme();
  return (
    <>
      <strong>{toHour(at)}</strong>
      {series.map(({ name, points, color }) => {
        const value = nearest(points, at, stepMs)?.value ?? null;
        return (
          <Box key={name} component="span" sx={{ color: toColor(palette, color), fontWeight: 600 }}>
            {value === null ? "–" : format(value)} {name}
          </Box>
        );
      })}
    </>
  );
}

/** Maximum rows of the table: one per 5 minutes of an hour, or one per hour of a day. */
const [hourRows, dayRows] = [12, 24];

/** The highest value in each part of the span, for screen readers. */
function ChartTable({ title, series, span, format }: ChartProps) {
  const lists = series.map(({ points }) => points);
  const rows = highestValues(lists, span, span.end - span.start > 7_200_000 ? dayRows : hourRows);
  return (
    <Box sx={forScreenReaders}>
      <table>
        <caption>{translate("overview.table", { title })}</caption>
        <thead>
          <tr>
            <th scope="col">{translate("history.from")}</th>
            {series.map(({ name }) => (
              <th key={name} scope="col">
                {name || title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ at, values }) => (
            <tr key={at}>
              <th scope="row">{toHour(at)}</th>
              {values.map((value, index) => (
                <td key={series[index]?.name}>{value === null ? translate("overview.table_none") : format(value)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Box>
  );
}

function toColor(palette: Palette, color: ChartSeries["color"]): string {
  return color === "grey" ? palette.text.secondary : palette[color].main;
}
