// Short notices at the bottom of the page that say what an action did, and offer to undo a write.

import { Alert, Button, Stack } from "@mui/material";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { HistoryEntryInfo, UndoBody, UndoResponse } from "../../admin/api/record-types.ts";
import { callApi, type UndoableWrite } from "../api/call-api.ts";
import { SharedValue, useSharedValue } from "../api/shared-value.ts";
import { shorten, showInvisible, translate } from "../text/translate.ts";
import { useSiteName } from "./site-context.ts";
import { useAttempt, useSitePath } from "./site-data.ts";

type NoticeKind = "success" | "info" | "warning" | "error";

interface Notice {
  readonly number: number;
  readonly text: string;
  readonly kind: NoticeKind;
  /** The write that the notice offers to undo. */
  readonly write?: UndoableWrite;
}

/** In display order: the newest is at the bottom. */
const notices = new SharedValue<readonly Notice[]>([]);

const maxShown = 3;

let lastNumber = 0;

function show(notice: Omit<Notice, "number">): void {
  const number = ++lastNumber;
  // Only the latest write gets an offer, because two could be mixed up; History can undo the others. Repeated texts are shown once.
  const others = notices.get().filter(({ write, text }) => !(write ? notice.write : text === notice.text));
  notices.set([...others, { ...notice, number }].slice(-maxShown));
}

function close(number: number): void {
  notices.set(notices.get().filter((one) => one.number !== number));
}

/** @param text nothing is shown if it's empty, as an error's message is when the server can't be reached (api/call-api.ts) */
export function notify(text: string, kind: NoticeKind = "info"): void {
  if (text !== "") show({ text, kind });
}

/** Says what a write did, and offers to undo it. @param text by default, a sentence for this kind of write */
export function reportWrite(write: UndoableWrite, text?: string): void {
  const { kind, count, revisions } = write;
  const named = namedIn(write);
  const said =
    text ??
    translate(revisions ? `record.${kind}${named.suffix}` : "record.unchanged", { ...named, smart_count: count });
  show({ text: said, kind: "success", ...(revisions ? { write } : {}) });
}

/** Returns the name of the record that was written, and how the keys of texts with a name end. */
function namedIn({ count, name = "" }: UndoableWrite) {
  return { name: shorten(showInvisible(name), 60), suffix: count === 1 && name !== "" ? "_one" : "" } as const;
}

/** Shows the notices until the operator leaves the site they belong to. */
export function Notices() {
  const shown = useSharedValue(notices);
  const siteName = useSiteName();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another site begins without notices, since an undo would not belong to it
  useEffect(() => () => notices.set([]), [siteName]);
  return (
    <Stack data-notices spacing={1} sx={placeStyle}>
      {shown.map((notice) => (
        <OneNotice key={notice.number} notice={notice} />
      ))}
    </Stack>
  );
}

/**
 * At the bottom left, above dialogs. What else is at the bottom of the window stays visible: on a phone a form's buttons, and everywhere the bar of
 * unsaved edits.
 */
const placeStyle = {
  position: "fixed",
  zIndex: "snackbar",
  left: { xs: 8, sm: 24 },
  right: { xs: 8, sm: "auto" },
  bottom: { xs: 80, sm: 24 },
  maxWidth: { sm: 560 },
  "html:has([data-bar]) &": { bottom: { xs: 128, sm: 84 } },
  "@media print": { display: "none" },
} as const;

/** Milliseconds for which a notice is shown; while the pointer or the focus is on it, it stays. */
const [shortMs, longMs] = [6000, 10_000];

function OneNotice({ notice: { number, text, kind, write } }: { readonly notice: Notice }) {
  const [isKept, setKept] = useState(false);
  const lasts = write || kind === "error" ? longMs : shortMs;
  useEffect(() => {
    if (isKept) return;
    const timer = setTimeout(() => close(number), lasts);
    return () => clearTimeout(timer);
  }, [isKept, lasts, number]);
  return (
    <Alert
      variant="filled"
      severity={kind}
      onClose={() => close(number)}
      action={write && <UndoButton write={write} number={number} />}
      onMouseEnter={() => setKept(true)}
      onMouseLeave={() => setKept(false)}
      onFocus={() => setKept(true)}
      onBlur={() => setKept(false)}
      sx={{ overflowWrap: "anywhere", boxShadow: 3 }}
    >
      {text}
    </Alert>
  );
}

function UndoButton({ write, number }: { readonly write: UndoableWrite; readonly number: number }) {
  const { run, revisions } = write;
  const named = namedIn(write);
  const undo = useUndo();
  const { attempt } = useAttempt();
  async function undoWrite() {
    if (!revisions) return;
    try {
      const { skipped } = await undo({ ...revisions, run }, false);
      if (skipped.length > 0) notify(translate(`record.undo_skipped${named.suffix}`, named), "error");
      else notify(translate(`record.undone${named.suffix}`, named), "success");
      close(number);
    } catch (error) {
      notify((error as Error).message, "error");
    }
  }
  return (
    <Button color="inherit" size="small" onClick={() => attempt(undoWrite)}>
      {translate("general.undo")}
    </Button>
  );
}

/** An entry of the history, or a write, as far as it says what to undo. */
export type UndoableEntry = Pick<HistoryEntryInfo, "first" | "last" | "run">;

/**
 * Returns a function that undoes the changes of an entry of the history, or with `dryRun` reports what that would do. After an undo, the page reloads
 * its data, but doesn't wait for that.
 */
export function useUndo() {
  const path = useSitePath("/undo");
  const queries = useQueryClient();
  return async ({ first, last, run }: UndoableEntry, dryRun: boolean): Promise<UndoResponse> => {
    const body: UndoBody = { since: first - 1, until: last, ...(run === null ? {} : { run }), dryRun };
    const result = await callApi<UndoResponse>("POST", path, body, { isRead: dryRun });
    if (!dryRun) void queries.invalidateQueries();
    return result;
  };
}
