// The placeholder of a list without entries: a picture, an explanation, and the next step.

import type { SvgIconComponent } from "@mui/icons-material";
import { Card, Stack, Typography } from "@mui/material";
import type { ReactNode } from "react";

interface EmptyListProps {
  readonly icon: SvgIconComponent;
  /** Says that the list is empty. */
  readonly title: string;
  /** Explains the purpose of the missing items. */
  readonly explain?: string;
  /** Buttons, for example to create an item. */
  readonly children?: ReactNode;
}

/** The placeholder of an empty list. */
export function EmptyList({ icon: Icon, title, explain, children }: EmptyListProps) {
  return (
    <Card>
      <Stack spacing={1} sx={{ px: 2, py: { xs: 4, sm: 7 }, alignItems: "center", textAlign: "center" }}>
        <Icon color="disabled" sx={{ fontSize: 48 }} />
        <Typography sx={{ fontWeight: 600, overflowWrap: "anywhere" }}>{title}</Typography>
        {explain && (
          <Typography color="textSecondary" sx={{ maxWidth: 520 }}>
            {explain}
          </Typography>
        )}
        {children && (
          <Stack direction="row" useFlexGap spacing={1} sx={{ pt: 1, flexWrap: "wrap", justifyContent: "center" }}>
            {children}
          </Stack>
        )}
      </Stack>
    </Card>
  );
}
