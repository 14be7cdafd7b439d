// The frame of a page: its title with a count, its purpose, and the buttons for its most frequent actions.

import { Box, Stack, Typography } from "@mui/material";
import type { ReactNode } from "react";
import { useDocumentTitle } from "./page-title.tsx";

interface PageProps {
  readonly title: string;
  /** The number of the items on the page, such as `100,000 brands`. */
  readonly count?: ReactNode;
  /** Purpose of the page, in a sentence. */
  readonly explain?: string | undefined;
  /** The buttons for the most frequent actions. The primary one is the last one. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page with its title in one row with its actions, which are below the title on a phone. */
export function Page({ title, count, explain, actions, children }: PageProps) {
  useDocumentTitle(title);
  return (
    <Box component="section" sx={{ mt: 2, mb: 4, maxWidth: 1400 }}>
      <Stack
        direction="row"
        useFlexGap
        spacing={1}
        sx={{ minHeight: 40, mb: explain ? 0.5 : 2, alignItems: "center", flexWrap: "wrap" }}
      >
        <Typography variant="h6" component="h1">
          {title}
        </Typography>
        {count !== undefined && (
          <Typography component="span" color="textSecondary" sx={{ fontVariantNumeric: "tabular-nums" }}>
            {count}
          </Typography>
        )}
        <Box sx={{ flexGrow: 1 }} />
        {actions}
      </Stack>
      {explain && (
        <Typography color="textSecondary" sx={{ mb: 2, maxWidth: 800 }}>
          {explain}
        </Typography>
      )}
      {children}
    </Box>
  );
}
