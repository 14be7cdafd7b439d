// A tile with the first letter of a name, coloured by that name, so that you see at a glance which site you're on, or who changed something.

import { Box, type Theme } from "@mui/material";
import type { CSSProperties } from "react";

interface InitialProps {
  readonly name: string;
  /** People get a round tile in a soft colour, sites a square one in a strong colour. */
  readonly isPerson?: boolean;
}

/** Shows a name's first letter. The name itself is next to it. */
export function Initial({ name, isPerson = false }: InitialProps) {
  const [letter = ""] = name.trim();
  return (
    <Box
      component="span"
      aria-hidden
      data-letter={letter.toUpperCase()}
      sx={isPerson ? personStyle : tileStyle}
      style={{ "--hue": hueOf(name) } as CSSProperties}
    />
  );
}

/** Returns a hue in degrees that depends only on the name. */
function hueOf(name: string): number {
  return [...name].reduce((hue, letter) => (hue * 31 + (letter.codePointAt(0) ?? 0)) % 360, 0);
}

// Only the hue varies, so that every letter has enough contrast.
const tileStyle = {
  display: "inline-flex",
  alignItems: "center",
  justifyContent: "center",
  flexShrink: 0,
  width: 24,
  height: 24,
  borderRadius: "6px",
  fontSize: 12,
  fontWeight: 600,
  lineHeight: 1,
  color: "#fff",
  bgcolor: "oklch(0.5 0.13 var(--hue))",
  // Not part of the document's text, so that the text around it is just the name.
  "&::before": { content: "attr(data-letter)" },
} as const;

const personStyle = ({ palette }: Theme) =>
  ({
    ...tileStyle,
    borderRadius: "50%",
    color: palette.mode === "dark" ? "oklch(0.88 0.07 var(--hue))" : "oklch(0.4 0.12 var(--hue))",
    bgcolor: palette.mode === "dark" ? "oklch(0.34 0.07 var(--hue))" : "oklch(0.92 0.05 var(--hue))",
  }) as const;
