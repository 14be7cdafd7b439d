// A plot of the last hour, drawn as SVG. plot-scale.ts calculates its coordinates.

import { Box, Card, CardContent, type Palette, Stack, Typography, useTheme } from "@mui/material";
import { type PointerEvent, useState } from "react";
import { toHour } from "../text/times.ts";
import { translate } from "../text/translate.ts";
import { height, nearest, type PlotPoint, roundMax, spanMs, toPath, toX, width } from "./plot-scale.ts";

/** A line of a plot. */
interface PlotLine {
  /** Name of the line; empty if the plot has only one line. */
  readonly name: string;
  readonly points: readonly PlotPoint[];
  readonly color: "primary" | "error" | "success" | "warning" | "grey";
  /** The number to show for the line; the default is the latest value. */
  readonly figure?: string;
}

interface PlotProps {
  readonly title: string;
  readonly lines: readonly PlotLine[];
  readonly format: (value: number) => string;
}

/** A card with lines over the last hour, and a number for each line. */
export function Plot({ title, lines, format }: PlotProps) {
  const { palette } = useTheme();
  const figures = lines.map((line) => ({ ...line, figure: line.figure ?? latest(line, format) }));
  const label = `${title}: ${figures.map(({ name, figure }) => `${name} ${figure}`.trim()).join(", ")}`;
  return (
    <Card sx={{ minWidth: 0 }}>
      <CardContent sx={{ p: 2, "&:last-child": { pb: 1.5 } }}>
        <Typography component="h3" variant="body2" color="textSecondary">
          {title}
        </Typography>
        <Stack direction="row" useFlexGap sx={{ columnGap: 1.5, flexWrap: "wrap", mb: 0.5 }}>
          {figures.map(({ name, figure, color }) => (
            <Typography
              key={name}
              variant="h6"
              component="p"
              sx={{
                color: toColor(palette, color),
                fontSize: 18,
                whiteSpace: "nowrap",
                fontVariantNumeric: "tabular-nums",
              }}
            >
              {figure}{" "}
              <Typography component="span" variant="body2" color="textSecondary">
                {name}
              </Typography>
            </Typography>
          ))}
        </Stack>
        <PlotArea label={label} lines={lines} format={format} />
      </CardContent>
    </Card>
  );
}

/** Returns the latest value as text; a dash if the line has no value yet. */
function latest({ points }: PlotLine, format: (value: number) => string): string {
  const value = points.findLast((point) => point.value !== null)?.value;
  return typeof value === "number" ? format(value) : "–";
}

interface PlotAreaProps {
  /** Describes the plot for screen readers. */
  readonly label: string;
  readonly lines: readonly PlotLine[];
  readonly format: (value: number) => string;
}

/** Draws lines over the last hour with a scale, and shows the values at the time under the pointer. */
function PlotArea({ label, lines, format }: PlotAreaProps) {
  const [pointed, setPointed] = useState<number>();
  const values = lines.flatMap(({ points }) => points.flatMap(({ value }) => value ?? []));
  const max = roundMax(values);
  const end = Math.max(0, ...lines.flatMap(({ points }) => points.map(({ at }) => at))) || Date.now();
  const onPointerMove = ({ clientX, currentTarget }: PointerEvent) => {
    const { left, width: shown } = currentTarget.getBoundingClientRect();
    setPointed(end - spanMs * (1 - (clientX - left) / shown));
  };
  const caption = { fontSize: 11, lineHeight: 1.4, color: "text.secondary" };
  return (
    <div>
      <Box sx={{ display: "flex", minHeight: 16, ...caption }}>
        {pointed === undefined ? format(max) : <PointedValues lines={lines} at={pointed} format={format} />}
      </Box>
      <Box onPointerMove={onPointerMove} onPointerLeave={() => setPointed(undefined)} sx={{ touchAction: "pan-y" }}>
        <Drawing label={label} lines={lines} max={max} end={end} pointed={pointed} />
      </Box>
      <Box sx={{ display: "flex", justifyContent: "space-between", ...caption }}>
        <span>{toHour(end - spanMs)}</span>
        {pointed !== undefined && <strong>{toHour(pointed)}</strong>}
        <span>{translate("overview.now")}</span>
      </Box>
    </div>
  );
}

interface DrawingProps extends Pick<PlotAreaProps, "label" | "lines"> {
  readonly max: number;
  readonly end: number;
  readonly pointed: number | undefined;
}

function Drawing({ label, lines, max, end, pointed }: DrawingProps) {
  const { palette } = useTheme();
  const grid = { stroke: palette.divider, vectorEffect: "non-scaling-stroke" } as const;
  return (
    <Box
      component="svg"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      sx={{ width: "100%", height, display: "block" }}
    >
      {[1, height / 2, height - 1].map((y) => (
        <line key={y} x1="0" x2={width} y1={y} y2={y} {...grid} />
      ))}
      {pointed !== undefined && (
        <line
          x1={toX(pointed, end)}
          x2={toX(pointed, end)}
          y1="0"
          y2={height}
          {...grid}
          stroke={palette.text.secondary}
        />
      )}
      {lines.map(({ name, points, color }) => (
        <path
          key={name}
          d={toPath(points, max, end)}
          fill="none"
          stroke={toColor(palette, color)}
          strokeWidth="1.75"
          vectorEffect="non-scaling-stroke"
          strokeLinejoin="round"
        />
      ))}
    </Box>
  );
}

/** Shows the values of the lines at a time. */
function PointedValues({ lines, at, format }: Pick<PlotAreaProps, "lines" | "format"> & { readonly at: number }) {
  const { palette } = useTheme();
  return (
    <Box sx={{ display: "flex", gap: 1, whiteSpace: "nowrap" }}>
      {lines.map(({ name, points, color }) => {
        const value = nearest(points, at)?.value ?? null;
        return (
          <Box key={name} component="span" sx={{ color: toColor(palette, color), fontWeight: 600 }}>
            {name} {value === null ? "–" : format(value)}
          </Box>
        );
      })}
    </Box>
  );
}

function toColor(palette: Palette, color: PlotLine["color"]): string {
  return color === "grey" ? palette.text.secondary : palette[color].main;
}
