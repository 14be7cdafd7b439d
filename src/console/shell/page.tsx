// The frame of a page: its title, also in the tab of the browser, and the buttons for its most frequent actions; the page with a single card; and the
// panel that is open over the page.

import { Box, Button, Card, CardContent, Stack, Typography } from "@mui/material";
import { type ReactNode, useEffect, useLayoutEffect } from "react";
import { SharedValue, useSharedValue } from "../api/shared-value.ts";
import { showInvisible, translate } from "../text/translate.ts";
import { StorefrontIcon } from "./icons.tsx";
import { useSiteName } from "./site-context.ts";
import { forScreenReaders } from "./theme.ts";

interface PageProps {
  readonly title: string;
  /** Purpose of the page, in a sentence. */
  readonly explain?: string | undefined;
  /** The buttons for the most frequent actions. The primary one is the last one. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page with its title in one row with its actions, which are below the title on a phone. */
export function Page({ title, explain, actions, children }: PageProps) {
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

interface Shown {
  readonly title: string;
}

const titles = new SharedValue<readonly Shown[]>([]);

/** Sets the title of the browser's tab while the component is shown. If several components do that, the last one counts. */
export function useDocumentTitle(title: string): void {
  const siteName = useSiteName();
  useEffect(() => {
    if (title === "") return;
    const shown = { title: `${showInvisible(title)} · ${siteName}` };
    setTitles([...titles.get(), shown]);
    return () => setTitles(titles.get().filter((one) => one !== shown));
  }, [title, siteName]);
}

/**
 * Keeps an element announced while a dialog is open: dialogs hide everything else from screen readers, but notices and titles must be read. Use it as
 * the `ref` of a child of the body.
 */
export function keepAnnounced(element: HTMLElement | null): (() => void) | undefined {
  if (!element) return undefined;
  const observer = new MutationObserver(() => element.removeAttribute("aria-hidden"));
  observer.observe(element, { attributeFilter: ["aria-hidden"] });
  return () => observer.disconnect();
}

/** Announces the shown page to screen readers, because the browser does not load a new document. */
export function TitleAnnouncer() {
  const title = useSharedValue(titles).at(-1)?.title ?? "";
  return (
    <Box role="status" sx={forScreenReaders}>
      {title}
    </Box>
  );
}

function setTitles(newTitles: readonly Shown[]): void {
  const title = newTitles.at(-1)?.title;
  document.title = title ? `${title} · ${translate("app.title")}` : translate("app.title");
  titles.set(newTitles);
}

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

type Panel = "find" | "shortcuts" | undefined;

const open = new SharedValue<Panel>(undefined);

export function usePanel(): Panel {
  return useSharedValue(open);
}

/** Opens a panel instead of the present one; undefined closes it. */
export function openPanel(panel: Panel): void {
  open.set(panel);
}
