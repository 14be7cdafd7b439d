// A page with a single card. It works without a site and without react-admin's context, for example before the sign-in.

import StorefrontIcon from "@mui/icons-material/Storefront";
import {
  Button,
  Card,
  CardContent,
  CssBaseline,
  createTheme,
  Stack,
  ThemeProvider,
  Typography,
  useMediaQuery,
} from "@mui/material";
import { type ReactNode, useMemo } from "react";
import { darkTheme, lightTheme } from "./theme.ts";

interface PlainPageProps {
  readonly title: string;
  readonly detail?: string;
  readonly action?: string;
  readonly onAction?: () => void;
  readonly children?: ReactNode;
}

/** A page with a single card, outside of react-admin. */
export function PlainPage({ title, detail, action, onAction, children }: PlainPageProps) {
  const isDark = useMediaQuery("(prefers-color-scheme: dark)");
  const theme = useMemo(() => createTheme(isDark ? darkTheme : lightTheme), [isDark]);
  return (
    <ThemeProvider theme={theme}>
      <CssBaseline />
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
    </ThemeProvider>
  );
}
