// The styles of data-list.tsx: one rule for all cells, because a style for each cell would take most of the time in which a list is drawn.

import type { SxProps, Theme } from "@mui/material";
import { lowShadow } from "./theme.ts";

/** The styles that tables and cards share. */
const sharedStyle = (theme: Theme) => ({
  border: 1,
  borderColor: "divider",
  borderRadius: 1,
  bgcolor: "background.paper",
  boxShadow: lowShadow,
  "& input[type=checkbox]": { accentColor: theme.palette.primary.main, width: 16, height: 16, m: 0, cursor: "pointer" },
  "& .tick label, & .all label": { display: "flex", alignItems: "center", cursor: "pointer" },
  "& .opener": { color: "inherit", font: "inherit", fontWeight: 600, textAlign: "inherit", textDecoration: "none" },
  "& .opener:hover": { textDecoration: "underline" },
  "& strong": { fontWeight: 600 },
  // A long path of a request must not cover the next column.
  "& code": { overflowWrap: "anywhere" },
  "& .named": { display: "inline-flex", alignItems: "center", gap: 1.25 },
  "& .lines": { display: "flex", flexDirection: "column", alignItems: "flex-start" },
  "& .fact .lines": { alignItems: "flex-end" },
  "& .lines small, & time, & .whole": { whiteSpace: "nowrap" },
  "& .lines small, & .lines code": { color: "text.secondary", fontSize: 12 },
  "& .pale": { color: "text.secondary" },
  "& .ticked": { bgcolor: "action.selected" },
});

/** Cells that can be edited (records/cell-editing.tsx): the colours of a staged and of a refused text, and the input over the text. */
const editingStyle = {
  "& td.editable": { cursor: "text", position: "relative" },
  "& td.editable:hover": { boxShadow: "inset 0 0 0 1px", color: "text.primary" },
  "& td:focus": { outline: "2px solid", outlineColor: "primary.main", outlineOffset: "-2px !important" },
  "& td.staged": { bgcolor: "color-mix(in srgb, var(--staged) 22%, transparent)" },
  "& td.faulty": { bgcolor: "color-mix(in srgb, var(--faulty) 14%, transparent)" },
  "& td .fault": { display: "block", color: "error.main", fontSize: 12 },
  "& td.editing > span": { visibility: "hidden" },
  "& td.editing > input": {
    position: "absolute",
    inset: 0,
    width: "100%",
    boxSizing: "border-box",
    px: 1.25,
    border: 2,
    borderColor: "primary.main",
    borderRadius: 0,
    outline: 0,
    font: "inherit",
    color: "text.primary",
    bgcolor: "background.paper",
  },
} as const;

/** The style of the element around the table. */
export const tableStyle: SxProps<Theme> = [
  sharedStyle,
  (theme) => ({
    overflowX: "auto",
    "--staged": "#eab308",
    "--faulty": theme.palette.error.main,
    "& > table": { width: "100%", borderCollapse: "collapse", fontSize: 14, fontVariantNumeric: "tabular-nums" },
    "& > table > * > tr > *": {
      height: 36,
      px: 1.25,
      py: 0.5,
      textAlign: "left",
      borderBottom: 1,
      borderColor: "divider",
      maxWidth: 320,
      overflowWrap: "break-word",
    },
    "& > table > tbody > tr:last-of-type > *": { borderBottom: 0 },
    "& > table > tbody > tr:hover:not(.ticked)": { bgcolor: "action.hover" },
    "& > table > thead > tr > *": {
      color: "text.secondary",
      bgcolor: "action.hover",
      fontWeight: 600,
      fontSize: 12,
      whiteSpace: "nowrap",
    },
    // The number of a record is rarely what one looks for.
    "& td[data-column=ID]": { color: "text.secondary" },
    "& th > button": {
      ...theme.typography.body2,
      font: "inherit",
      color: "inherit",
      bgcolor: "transparent",
      border: 0,
      p: 0,
      cursor: "pointer",
    },
    "& th[aria-sort=ascending] > button::after": { content: '" ↑"' },
    "& th[aria-sort=descending] > button::after": { content: '" ↓"' },
    "& th > button:hover": { color: "text.primary" },
    "& > table > * > tr > .right": { textAlign: "right" },
    "& > table > * > tr > .tick": { width: 36, p: 0 },
    "& .tick label": { height: 36, pl: 1.25, pr: 1 },
    "& > table > * > tr > .actions": { width: "1%", whiteSpace: "nowrap", textAlign: "right", py: 0 },
    "& .openable": { cursor: "pointer" },
    ...editingStyle,
  }),
];

/** The style of the element around the cards. */
export const cardsStyle: SxProps<Theme> = [
  sharedStyle,
  {
    fontSize: 14,
    fontVariantNumeric: "tabular-nums",
    "& .all": { borderBottom: 1, borderColor: "divider" },
    "& .all label": { gap: 1.5, px: 1.5, minHeight: 44, color: "text.secondary" },
    "& ul": { listStyle: "none", m: 0, p: 0 },
    "& li": { display: "flex", alignItems: "flex-start", borderBottom: 1, borderColor: "divider" },
    "& li:last-of-type": { borderBottom: 0 },
    "& .tick label": { minHeight: 44, pl: 1.5, pr: 1 },
    "& .content": { flexGrow: 1, minWidth: 0, py: 1.25, px: 1.5, overflowWrap: "anywhere" },
    "& .tick + .content": { pl: 0.5 },
    "& .primary .opener": { display: "block" },
    "& .fact": { display: "flex", justifyContent: "space-between", gap: 2, color: "text.secondary", mt: 0.25 },
    "& .fact:has(.lines:empty)": { display: "none" },
    "& .fact > span": { minWidth: 0, textAlign: "right" },
    "& .fact > .label": { flexShrink: 0, textAlign: "left" },
    "& .actions": { flexShrink: 0, pt: 0.5, pr: 0.5 },
  },
];
