import { type Theme, useMediaQuery } from "@mui/material";

/** Returns whether the window is narrower than a breakpoint of the theme. The default breakpoint is that of phones. */
export function useIsNarrow(below: "sm" | "md" = "sm"): boolean {
  return useMediaQuery<Theme>((theme) => theme.breakpoints.down(below));
}
