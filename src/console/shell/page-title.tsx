// The title of the page in the browser's tab. The title of a form that is open over the page comes first.

import { Box } from "@mui/material";
import { useEffect } from "react";
import { SharedValue, useSharedValue } from "../api/shared-value.ts";
import { showInvisible } from "../text/show-invisible.ts";
import { translate } from "../text/translate.ts";
import { useSiteName } from "./site-context.ts";
import { forScreenReaders } from "./theme.ts";

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
