import { type Theme, useMediaQuery } from "@mui/material";

/** Whether the window is narrower than a breakpoint of the theme; by default it is then a phone. */
export function useIsNarrow(below: "sm" | "md" = "sm"): boolean {
  return useMediaQuery<Theme>((theme) => theme.breakpoints.down(below));
}
