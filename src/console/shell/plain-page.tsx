// A page with a single card. It needs no site, so it works before the sign-in.

import StorefrontIcon from "@mui/icons-material/Storefront";
import { Button, Card, CardContent, Stack, Typography } from "@mui/material";
import { type ReactNode, useLayoutEffect } from "react";

interface PlainPageProps {
  readonly title: string;
  readonly detail?: string;
  readonly action?: string;
  readonly onAction?: () => void;
  readonly children?: ReactNode;
}

/** A page with a single card. */
export function PlainPage({ title, detail, action, onAction, children }: PlainPageProps) {
  useWithoutPlaceholder();
  return (
    <Stack component="main" sx={{ minHeight: "100dvh", alignItems: "center", justifyContent: "center", p: 2 }}>
      <Card sx={{ maxWidth: 480, width: "100%" }}>
        <CardContent sx={{ p: 3 }}>
          <Stack spacing={2}>
            <StorefrontIcon color="primary" fontSize="large" />
            <Typography component="h1" variant="h6">
              {title}
            </Typography>
            {detail && <Typography>{detail}</Typography>}
            {children}
            {action && (
              <Button variant="contained" onClick={onAction}>
                {action}
              </Button>
            )}
          </Stack>
        </CardContent>
      </Card>
    </Stack>
  );
}

/** Removes the empty shapes that the page had before the script ran, at the moment in which the component is shown. */
export function useWithoutPlaceholder(): void {
  useLayoutEffect(() => document.getElementById("frame")?.remove(), []);
}
