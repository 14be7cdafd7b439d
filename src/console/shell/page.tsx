// The frame of a page, with its title (also in the browser's tab) and main buttons; a page with a single card; and the panel that opens over the
// page.

import { Box, Button, Card, CardContent, Stack, Typography } from "@mui/material";
import { type ReactNode, useEffect, useLayoutEffect } from "react";
import { SharedValue, useSharedValue } from "../api/shared-value.ts";
import { showInvisible, translate } from "../text/translate.ts";
import { StorefrontIcon } from "./icons.tsx";
import { useSiteName } from "./site-context.ts";
import { forScreenReaders } from "./theme.ts";

interface PageProps {
  readonly title: string;
  /** What the page is for, in a sentence. */
  readonly explain?: string | undefined;
  /** The main buttons. The primary one comes last. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page with its title and actions in one row. On a phone, the actions are below the title. */
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

/** Sets the browser tab's title while the component is mounted. The last such component wins. */
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
 * Keeps an element visible to screen readers while a dialog is open. Dialogs hide everything else from them, but notices and titles must still be
 * announced. Use it as the `ref` of a child of the body.
 */
export function keepAnnounced(element: HTMLElement | null): (() => void) | undefined {
  if (!element) return undefined;
  const observer = new MutationObserver(() => element.removeAttribute("aria-hidden"));
  observer.observe(element, { attributeFilter: ["aria-hidden"] });
  return () => observer.disconnect();
}

/** Announces page changes to screen readers, because the browser doesn't load a new document. */
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

export function PlainPage({ title, detail, action, onAction, children }: PlainPageProps) {
  useRemovePlaceholder();
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

/** Removes the placeholder that the page showed before the script ran, as soon as the component is shown. */
export function useRemovePlaceholder(): void {
  useLayoutEffect(() => document.getElementById("frame")?.remove(), []);
}

type Panel = "find" | "shortcuts" | undefined;

const open = new SharedValue<Panel>(undefined);

export function usePanel(): Panel {
  return useSharedValue(open);
}

/** Opens a panel in place of the current one. Undefined closes it. */
export function openPanel(panel: Panel): void {
  open.set(panel);
}
