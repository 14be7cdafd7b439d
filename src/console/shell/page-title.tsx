// The title of the page: in the frame, and in the browser's tab with what is open over the page first.

import { Box } from "@mui/material";
import { useEffect, useSyncExternalStore } from "react";
import { Title } from "react-admin";
import { useSite } from "../site-context.ts";
import { texts } from "../texts.ts";
import { visible } from "../visible.ts";
import { forScreenReaders } from "./for-screen-readers.ts";

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

/** Names the browser's tab while the component is shown. Of several, the one that was shown last counts. */
export function useDocumentTitle(title: string): void {
  const site = useSite();
  useEffect(() => {
    if (title === "") return;
    const shown = { title: `${visible(title)} · ${site}` };
    change([...titles, shown]);
    return () => change(titles.filter((one) => one !== shown));
  }, [title, site]);
}

/** Tells screen readers which page is shown: the browser does not load a page. */
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

function change(next: readonly Shown[]): void {
  titles = next;
  const title = titles.at(-1)?.title;
  document.title = title ? `${title} · ${texts.app.title}` : texts.app.title;
  for (const listener of [...listeners]) listener();
}
