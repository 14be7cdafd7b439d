// Keyboard shortcuts: handles their keys, and lists them in a dialog.

import { Stack, Table, TableBody, TableCell, TableRow, Typography } from "@mui/material";
import { useEffect, useEffectEvent, useMemo } from "react";
import { DialogFrame } from "../shell/dialog-frame.tsx";
import { openPanel, usePanel } from "../shell/page.tsx";
import { navigate } from "../shell/router.tsx";
import { useDeclared, useSession, useSiteName } from "../shell/site-context.ts";
import { capitalize } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { pagesOf } from "./menu.tsx";

interface Destination {
  readonly key: string;
  /** The page's path, below the site's. */
  readonly path: string;
  readonly label: string;
}

export function Shortcuts() {
  const siteName = useSiteName();
  const destinations = useDestinations();
  const go = useEffectEvent((key: string) => {
    const found = destinations.find((one) => one.key === key);
    if (found) navigate(`/${siteName}${found.path}`);
  });
  // One listener for the whole time. A new one per render would forget the first key if the page changes before the second.
  useEffect(() => {
    const onKeyDown = createListener((key) => go(key));
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
  return usePanel() === "shortcuts" ? <ShortcutList destinations={destinations} /> : null;
}

function useDestinations(): readonly Destination[] {
  const { resources } = useDeclared();
  const session = useSession();
  return useMemo(() => {
    const overview = { key: "o", path: "", label: translate("overview.title") };
    const pages = pagesOf(session)
      .flat()
      .map(({ name, key }) => ({ key, path: `/${name}`, label: translate(`${name}.title`) }));
    const used = new Set([overview, ...pages].map(({ key }) => key));
    // A list's key is the first letter of its path that no other page uses.
    const lists = resources.flatMap(({ path, plural }) => {
      const key = [...path].find((letter) => !used.has(letter));
      if (key) used.add(key);
      return key ? [{ key, path: `/${path}`, label: capitalize(plural) }] : [];
    });
    return [overview, ...lists, ...pages];
  }, [resources, session]);
}

/** Maximum milliseconds between the two keys of a shortcut such as `g h`. */
const maxSequenceMs = 1500;

function createListener(go: (key: string) => void): (event: KeyboardEvent) => void {
  let goUntil = 0;
  return (event) => {
    const { key, timeStamp } = event;
    if ((event.ctrlKey || event.metaKey) && key === "k") {
      event.preventDefault();
      return openPanel("find");
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || isCovered()) return;
    // Go by when the keys were pressed, because a busy page handles the second one late.
    const isSecond = timeStamp < goUntil;
    goUntil = 0;
    if (isSecond) return go(key);
    if (key === "g") goUntil = timeStamp + maxSequenceMs;
    if (key === "?") openPanel("shortcuts");
    // Otherwise the letter is typed into the field that gets the focus.
    if (key === "n" || key === "/") event.preventDefault();
    if (key === "n") document.querySelector<HTMLElement>('[data-shortcut="new"]')?.click();
    if (key === "/") search();
  };
}

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  const isBox = element instanceof HTMLInputElement && ["checkbox", "radio", "button"].includes(element.type);
  return !isBox && Boolean(element?.closest?.("input, textarea, select, [contenteditable]"));
}

/** Whether a dialog or a form covers the page. While open, it has the focus. While it closes, it's still visible, but the focus has left it. */
function isCovered(): boolean {
  return Boolean(document.activeElement?.closest(".MuiModal-root"));
}

function search(): void {
  const own = document.querySelector<HTMLInputElement>('main input[name="q"], main input[type="search"]');
  if (own) own.focus();
  else openPanel("find");
}

function ShortcutList({ destinations }: { readonly destinations: readonly Destination[] }) {
  const close = () => openPanel(undefined);
  const rows: [keys: string[], text: string][] = [
    [["/"], translate("shortcuts.search")],
    [["Ctrl+K"], translate("find.title")],
    [["n"], translate("shortcuts.new")],
    [["Enter"], translate("shortcuts.edit")],
    [["Ctrl+S"], translate("shortcuts.save")],
    [["Ctrl+Z"], translate("shortcuts.take_back")],
    ...destinations.map(({ key, label }): [string[], string] => [
      ["g", key],
      translate("shortcuts.go", { name: label }),
    ]),
    [["?"], translate("shortcuts.help")],
  ];
  return (
    <DialogFrame title={translate("shortcuts.title")} onClose={close}>
      <Table size="small">
        <TableBody>
          {rows.map(([keys, text]) => (
            <TableRow key={text}>
              <TableCell sx={{ whiteSpace: "nowrap", width: 120 }}>
                <Keys keys={keys} />
              </TableCell>
              <TableCell>{text}</TableCell>
            </TableRow>
          ))}
        </TableBody>
      </Table>
    </DialogFrame>
  );
}

function Keys({ keys }: { readonly keys: readonly string[] }) {
  const [first, second] = keys;
  return (
    <Stack direction="row" spacing={1} component="span">
      <kbd>{first}</kbd>
      {second && (
        <>
          <Typography component="span" variant="body2" color="textSecondary">
            {translate("shortcuts.followed_by")}
          </Typography>
          <kbd>{second}</kbd>
        </>
      )}
    </Stack>
  );
}
