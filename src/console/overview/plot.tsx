import { Box, Card, CardContent, type Palette, Stack, Typography, useTheme } from "@mui/material";

interface PlotLine {
  readonly label: string;
  readonly values: readonly (number | null)[];
  readonly color: "primary" | "error" | "success" | "warning" | "grey";
}

interface PlotProps {
  readonly title: string;
  readonly lines: readonly PlotLine[];
  readonly format: (value: number) => string;
}

/** The size of the drawing, which is stretched to the width that there is. */
const [width, height] = [300, 80];

/** Values over time as lines, with the latest as text. */
export function Plot({ title, lines, format }: PlotProps) {
  const { palette } = useTheme();
  const max = Math.max(1e-9, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  return (
    <Card>
      <CardContent>
        <Typography component="h3" variant="body2" color="textSecondary">
          {title}
        </Typography>
        <Stack direction="row" spacing={2} sx={{ mb: 1, minHeight: 32 }}>
          {lines.map(({ label, values, color }) => (
            <Typography key={label} variant="h6" component="p" sx={{ color: toColor(palette, color) }}>
              {latest(values, format)}{" "}
              <Typography component="span" variant="body2" color="textSecondary">
                {label}
              </Typography>
            </Typography>
          ))}
        </Stack>
        <Box
          component="svg"
          role="img"
          aria-label={title}
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          sx={{ width: "100%", height, display: "block" }}
        >
          <line
            x1="0"
            x2={width}
            y1={height - 1}
            y2={height - 1}
            stroke={palette.divider}
            vectorEffect="non-scaling-stroke"
          />
          {lines.map(({ label, values, color }) => (
            <path
              key={label}
              d={toPath(values, max)}
              fill="none"
              stroke={toColor(palette, color)}
              strokeWidth="2"
              vectorEffect="non-scaling-stroke"
              strokeLinejoin="round"
            />
          ))}
        </Box>
      </CardContent>
    </Card>
  );
}

function toColor(palette: Palette, color: PlotLine["color"]): string {
  return color === "grey" ? palette.text.secondary : palette[color].main;
}

/** The latest value as text; a dash while there is none. */
function latest(values: readonly (number | null)[], format: (value: number) => string): string {
  const value = values.findLast((one) => one !== null);
  return typeof value === "number" ? format(value) : "–";
}

/** A line through the values; a missing one is a gap. */
function toPath(values: readonly (number | null)[], max: number): string {
  const step = width / Math.max(1, values.length - 1);
  let isDrawing = false;
  return values
    .map((value, index) => {
      if (value === null) {
        isDrawing = false;
        return "";
      }
      const command = isDrawing ? "L" : "M";
      isDrawing = true;
      return `${command}${(index * step).toFixed(1)} ${(height - 2 - (value / max) * (height - 6)).toFixed(1)}`;
    })
    .join("");
}
