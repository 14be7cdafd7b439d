// The notification after each write of a record, with a button that undoes the write.

import { Alert, Button, Snackbar } from "@mui/material";
import { useEffect, useState } from "react";
import { useRefresh } from "react-admin";
import type { UndoableWrite } from "../api/data-provider.ts";
import { useUndo } from "../history/history.ts";
import { translate } from "../text/translate.ts";

const writes = new EventTarget();

/** Reports a write to the page, which then offers to undo it. */
export function reportWrite(write: UndoableWrite): void {
  writes.dispatchEvent(new CustomEvent("write", { detail: write }));
}

type Shown =
  | { readonly kind: "written"; readonly write: UndoableWrite }
  | { readonly kind: "undone" | "failed"; readonly text: string };

/** Milliseconds for which the undo is offered. */
const offerMs = 10_000;

/** Shows the result of the last write, and offers to undo it. */
export function UndoOffer() {
  const undo = useUndo();
  const refresh = useRefresh();
  const [shown, setShown] = useState<Shown>();

  useEffect(() => {
    const onWrite = (event: Event) =>
      setShown({ kind: "written", write: (event as CustomEvent<UndoableWrite>).detail });
    writes.addEventListener("write", onWrite);
    return () => writes.removeEventListener("write", onWrite);
  }, []);

  async function undoWrite({ run, revisions }: UndoableWrite) {
    if (!revisions) return;
    try {
      const { skipped } = await undo({ ...revisions, run }, false);
      refresh();
      const text = skipped.length > 0 ? translate("record.undo_skipped") : translate("record.undone");
      setShown({ kind: skipped.length > 0 ? "failed" : "undone", text });
    } catch (error) {
      setShown({ kind: "failed", text: (error as Error).message });
    }
  }

  if (!shown) return null;
  const close = (_event: unknown, reason?: string) => reason !== "clickaway" && setShown(undefined);
  const write = shown.kind === "written" ? shown.write : undefined;
  const action = write?.revisions && (
    <Button color="inherit" size="small" onClick={() => undoWrite(write)}>
      {translate("general.undo")}
    </Button>
  );
  return (
    <Snackbar open autoHideDuration={offerMs} onClose={close} key={write?.run ?? shown.kind}>
      <Alert
        variant="filled"
        severity={shown.kind === "failed" ? "error" : "success"}
        action={action}
        onClose={action ? undefined : () => setShown(undefined)}
      >
        {write
          ? translate(`record.${write.revisions ? write.kind : "unchanged"}`, { smart_count: write.count })
          : shown.kind !== "written" && shown.text}
      </Alert>
    </Snackbar>
  );
}
