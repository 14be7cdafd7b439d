// The title of the page, in the frame and in the browser's tab. In the tab, the title of a form that is open over the page comes first.

import { Box } from "@mui/material";
import { useEffect, useSyncExternalStore } from "react";
import { Title } from "react-admin";
import { showInvisible } from "../text/show-invisible.ts";
import { translate } from "../text/translate.ts";
import { useSiteName } from "./site-context.ts";
import { forScreenReaders } from "./theme.ts";

interface Shown {
  readonly title: string;
}

let titles: readonly Shown[] = [];
const listeners = new Set<() => void>();

/** Shows the title of a page. */
export function PageTitle({ title }: { readonly title: string }) {
  useDocumentTitle(title);
  return <Title title={title} />;
}

/** Sets the title of the browser's tab while the component is shown. If several components do that, the last one counts. */
export function useDocumentTitle(title: string): void {
  const siteName = useSiteName();
  useEffect(() => {
    if (title === "") return;
    const shown = { title: `${showInvisible(title)} · ${siteName}` };
    setTitles([...titles, shown]);
    return () => setTitles(titles.filter((one) => one !== shown));
  }, [title, siteName]);
}

/** Announces the shown page to screen readers, because the browser does not load a new document. */
export function TitleAnnouncer() {
  const title = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => titles.at(-1)?.title ?? "",
  );
  return (
    <Box role="status" sx={forScreenReaders}>
      {title}
    </Box>
  );
}

function setTitles(newTitles: readonly Shown[]): void {
  titles = newTitles;
  const title = titles.at(-1)?.title;
  document.title = title ? `${title} · ${translate("app.title")}` : translate("app.title");
  for (const listener of [...listeners]) listener();
}
