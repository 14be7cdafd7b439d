import { Card, CardContent, Stack, Typography, useTheme } from "@mui/material";
import { PlotArea, toColor } from "./plot-area.tsx";
import type { PlotPoint } from "./plot-scale.ts";

/** A line of a plot. */
export interface PlotLine {
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
