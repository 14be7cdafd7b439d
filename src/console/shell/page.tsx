// The frame of a page other than a list of records: its title, its purpose, and the button for its most frequent action.

import { Box, Stack, Typography } from "@mui/material";
import type { ReactNode } from "react";
import { PageTitle } from "./page-title.tsx";

interface PageProps {
  readonly title: string;
  /** Purpose of the page, in a sentence. */
  readonly explain?: string;
  /** The button for the most frequent action. */
  readonly action?: ReactNode;
  readonly children: ReactNode;
}

/** A page that is not a list of records, with title, purpose and main action. */
export function Page({ title, explain, action, children }: PageProps) {
  return (
    <Box component="section" sx={{ mt: 2, mb: 4, maxWidth: 1400 }}>
      <PageTitle title={title} />
      <Stack
        direction={{ xs: "column", sm: "row" }}
        spacing={2}
        sx={{
          mb: explain || action ? 2 : { xs: 1, sm: 0 },
          alignItems: { sm: "center" },
          justifyContent: "space-between",
        }}
      >
        <Box>
          <PhoneTitle title={title} />
          {explain && <Typography color="textSecondary">{explain}</Typography>}
        </Box>
        {action}
      </Stack>
      {children}
    </Box>
  );
}

/** The title of the page on a phone, where the bar has no space for it. It is hidden from screen readers, which read the title in the bar. */
export function PhoneTitle({ title }: { readonly title: string }) {
  return (
    <Typography variant="h6" component="p" aria-hidden sx={{ display: { sm: "none" } }}>
      {title}
    </Typography>
  );
}
