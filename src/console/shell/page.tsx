import { Box, Stack, Typography } from "@mui/material";
import type { ReactNode } from "react";
import { PageTitle } from "./page-title.tsx";

interface PageProps {
  readonly title: string;
  /** What the page is for, in a sentence. */
  readonly explain?: string;
  /** The button for what is done here most. */
  readonly action?: ReactNode;
  readonly children: ReactNode;
}

/** A page that is not a list of records: its title, what it is for, and what can be done first. */
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

/** The title of the page on a phone, where the bar has no room for it. Screen readers have it in the bar. */
export function PhoneTitle({ title }: { readonly title: string }) {
  return (
    <Typography variant="h6" component="p" aria-hidden sx={{ display: { sm: "none" } }}>
      {title}
    </Typography>
  );
}
