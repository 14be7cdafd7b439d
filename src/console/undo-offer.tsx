import { Alert, Button, Snackbar } from "@mui/material";
import { useEffect, useState } from "react";
import { useRefresh, useTranslate } from "react-admin";
import type { WriteResponse } from "../admin/api/types.ts";
import { useUndo } from "./history/history.ts";

/** The result of a write, from which it can be undone. */
export interface WriteNote extends WriteResponse {
  readonly kind: "saved" | "created" | "deleted";
  readonly count: number;
}

const notes = new EventTarget();

/** Reports a write to the page, which then offers to undo it. */
export function noteWrite(note: WriteNote): void {
  notes.dispatchEvent(new CustomEvent("write", { detail: note }));
}

type Shown =
  | { readonly kind: "note"; readonly note: WriteNote }
  | { readonly kind: "undone" | "failed"; readonly text: string };

/** Milliseconds for which the undo is offered. */
const duration = 10_000;

/** Shows the result of the last write, and offers to undo it. */
export function UndoOffer() {
  const translate = useTranslate();
  const undo = useUndo();
  const refresh = useRefresh();
  const [shown, setShown] = useState<Shown>();

  useEffect(() => {
    const onWrite = (event: Event) => setShown({ kind: "note", note: (event as CustomEvent<WriteNote>).detail });
    notes.addEventListener("write", onWrite);
    return () => notes.removeEventListener("write", onWrite);
  }, []);

  async function takeBack({ run, revisions }: WriteNote) {
    if (!revisions) return;
    try {
      const { left } = await undo({ ...revisions, run }, false);
      refresh();
      const text = left.length > 0 ? translate("record.undo_left") : translate("record.undone");
      setShown({ kind: left.length > 0 ? "failed" : "undone", text });
    } catch (error) {
      setShown({ kind: "failed", text: (error as Error).message });
    }
  }

  if (!shown) return null;
  const close = (_event: unknown, reason?: string) => reason !== "clickaway" && setShown(undefined);
  const note = shown.kind === "note" ? shown.note : undefined;
  const action = note?.revisions && (
    <Button color="inherit" size="small" onClick={() => takeBack(note)}>
      {translate("record.undo")}
    </Button>
  );
  return (
    <Snackbar open autoHideDuration={duration} onClose={close} key={note?.run ?? shown.kind}>
      <Alert
        variant="filled"
        severity={shown.kind === "failed" ? "error" : "success"}
        action={action}
        onClose={action ? undefined : () => setShown(undefined)}
      >
        {note
          ? translate(`record.${note.revisions ? note.kind : "unchanged"}`, { smart_count: note.count })
          : shown.kind !== "note" && shown.text}
      </Alert>
    </Snackbar>
  );
}
