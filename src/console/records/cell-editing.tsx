// The table of records as a grid: Tab stops at it once, and arrow keys move in it. A click, Enter, F2 or typing starts editing a cell. Enter, Tab and
// arrow keys then move on to the next cell, even on the next or previous page, and Escape discards what was typed. Edits are staged (staged-edits.ts).
// Cells can be pasted from a spreadsheet.

import {
  type ClipboardEvent,
  type ComponentProps,
  type KeyboardEvent,
  type MouseEvent,
  type TdHTMLAttributes,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { flushSync } from "react-dom";
import type { RecordResponse, RecordsResponse } from "../../admin/api/record-types.ts";
import { notify } from "../shell/notices.tsx";
import { isSaveKey } from "../shell/unsaved.ts";
import { fullLabelOf, textAt } from "../text/fields.ts";
import { toNumber } from "../text/locale.ts";
import { shorten, showInvisible, translate } from "../text/translate.ts";
import { countPages, type ListState } from "./list-state.ts";
import type { usePending } from "./pending-edits.tsx";
import type { useRecordPage } from "./record-data.ts";
import { type Place, parseCells, type StagedRecord, toEdits } from "./staged-edits.ts";

interface Editor {
  readonly item: RecordResponse;
  readonly path: string;
  /** What the input starts with. */
  readonly text: string;
  /** Whether editing started by typing. Then arrow keys leave the cell, as in a spreadsheet; otherwise they move within the text. */
  readonly isTyped: boolean;
  /** Called with the input's text if the row is removed, for example because someone has deleted its record. */
  readonly onRemoved: (text: string) => void;
}

/** A row of the table. It stays the same object until something in it changes. */
export interface TableRecord {
  readonly item: RecordResponse;
  readonly staged: StagedRecord | undefined;
  /** The editor, if one of its cells is being edited. */
  readonly editor: Editor | undefined;
}

interface Editing {
  readonly list: Pick<ListState, "columns" | "query" | "showPage">;
  readonly page: RecordsResponse;
  readonly result: Pick<ReturnType<typeof useRecordPage>, "isStale" | "readPart" | "refetch">;
  readonly pending: Pick<ReturnType<typeof usePending>, "records" | "isSaving" | "stage">;
}

export function useCellEditing(editing: Editing) {
  const [editor, setEditor] = useState<Editor>();
  const rows = useRows(editing.page.records, editing.pending.records, editor);
  const latest = useRef<TableState>({ ...editing, rows, editor });
  latest.current = { ...editing, rows, editor };
  const table = useRef<HTMLTableElement>(null);
  const context = useMemo(
    (): Context => ({
      latest,
      setEditor,
      table,
      stop: undefined,
      focused: undefined,
      awaited: undefined,
      left: undefined,
    }),
    [],
  );
  const listeners = useMemo(() => createListeners(context), [context]);
  // Runs once the rows are rendered, and before the next key is handled, which mustn't find an editor that's only about to open.
  useLayoutEffect(() => {
    markRows(context);
    finishWaiting(context);
  });
  return { rows, table: { ref: table, "aria-rowcount": editing.page.total + 1, ...listeners } };
}

/** Returns the rows. Those in which nothing has changed are the same objects as in the last render. */
function useRows(
  items: readonly RecordResponse[],
  stagedRecords: ReadonlyMap<number, StagedRecord>,
  editor: Editor | undefined,
): readonly TableRecord[] {
  const known = useRef<ReadonlyMap<number, TableRecord>>(new Map());
  return useMemo(() => {
    const rows = items.map((item): TableRecord => {
      const id = item.record.ID;
      const staged = stagedRecords.get(id);
      const own = editor?.item.record.ID === id ? editor : undefined;
      const row = known.current.get(id);
      const isSame = row?.item.version === item.version && row.staged === staged && row.editor === own;
      return isSame ? row : { item, staged, editor: own };
    });
    known.current = new Map(rows.map((row) => [row.item.record.ID, row]));
    return rows;
  }, [items, stagedRecords, editor]);
}

interface TableState extends Editing {
  readonly rows: readonly TableRecord[];
  readonly editor: Editor | undefined;
}

/** The table's state for its listeners, and the function that changes it. */
interface Context {
  readonly latest: { readonly current: TableState };
  readonly setEditor: (editor: Editor | undefined) => void;
  readonly table: { readonly current: HTMLTableElement | null };
  /** The only element in the table that Tab stops at: a cell, or the control in it. */
  stop: HTMLElement | undefined;
  /** Where the focus is, or was until its row was removed. */
  focused: { readonly row: number; readonly column: number } | undefined;
  awaited: Awaited | undefined;
  /**
   * The cell that was just edited, if there was no other cell to move to. Typing there doesn't start an edit, because it would overwrite the text
   * unseen.
   */
  left: HTMLElement | undefined;
}

/** A cell that can't be edited until another page is shown, or the list is up to date again. What's typed meanwhile goes into that cell. */
interface Awaited {
  readonly page: number;
  readonly find: () => HTMLElement | undefined;
  typed: string;
  /** Whether the text was ended by Enter, Tab or the like. */
  isEnded: boolean;
}

/** Creates the table's listeners once, so that they never make rows re-render. */
function createListeners(context: Context): ComponentProps<"table"> {
  return {
    role: "grid",
    onClick({ target }: MouseEvent) {
      const cell = cellOf(target);
      const isOnControl = (target as Element).closest("a, button, input, label");
      if (cell && isEditable(cell) && !isOnControl && getSelection()?.isCollapsed !== false) begin(context, cell);
    },
    onKeyDown(event: KeyboardEvent) {
      const cell = cellOf(event.target);
      if (!cell) return;
      if (isEditorInput(event.target)) handleEditorKey(context, event, cell);
      else if (context.awaited) handleWaitingKey(context, context.awaited, event);
      else handleCellKey(context, event, cell);
    },
    onFocus({ target }) {
      const cell = cellOf(target);
      if (!cell) return;
      setStop(context, stopIn(cell));
      context.focused = { row: (cell.parentElement as HTMLTableRowElement).rowIndex, column: cell.cellIndex };
    },
    onBlur(event) {
      if (event.target.isConnected) context.focused = undefined;
      context.left = undefined;
      // If a row is removed, its cell loses the focus without a related target.
      if (event.relatedTarget) context.awaited = undefined;
      if (isEditorInput(event.target) && context.latest.current.editor) end(context, event.target.value);
    },
    onCopy: (event) => copy(context, event),
    onPaste: (event) => void paste(context, event),
  };
}

function isEditorInput(target: EventTarget): target is HTMLInputElement {
  return target instanceof HTMLInputElement && target.type === "text";
}

const controls = "a, button, input[type=checkbox]";

/** Returns what gets the focus in a cell: its control, or itself. */
const stopIn = (cell: HTMLElement) => cell.querySelector<HTMLElement>(controls) ?? cell;

function setStop(context: Context, stop: HTMLElement | undefined): void {
  if (context.stop) context.stop.tabIndex = -1;
  context.stop = stop;
  if (stop) stop.tabIndex = 0;
}

/** Numbers the rows, and gives the table a single tab stop, as ARIA's grid pattern requires: by default, the first cell that can be edited. */
function markRows(context: Context): void {
  const table = context.table.current;
  const { page, rows } = context.latest.current.list.query;
  for (const row of table?.rows ?? [])
    row.ariaRowIndex = String(row.rowIndex === 0 ? 1 : (page - 1) * rows + row.rowIndex + 1);
  for (const control of table?.querySelectorAll<HTMLElement>(controls) ?? []) control.tabIndex = -1;
  const first = () => table?.querySelector<HTMLElement>("td.editable") ?? table?.tBodies[0]?.rows[0]?.cells[0];
  if (context.stop?.isConnected) {
    setStop(context, context.stop);
    return;
  }
  const { row, column } = context.focused ?? {};
  const { rows: all = [] } = table ?? {};
  // The focused row was replaced: its place keeps the focus.
  const next = row === undefined ? undefined : all[Math.min(row, all.length - 1)]?.cells[column ?? 0];
  const stop = next ?? first();
  setStop(context, stop && stopIn(stop));
  if (next && document.activeElement === document.body) stopIn(next).focus({ preventScroll: true });
}

/** Starts editing a cell. @param typed the first characters, if editing starts by typing */
function begin({ latest, setEditor }: Context, cell: HTMLElement, typed?: string): void {
  const { id, path } = placeOf(cell);
  const row = latest.current.rows.find(({ item }) => item.record.ID === id);
  if (!row || latest.current.result.isStale) return;
  const { item } = row;
  const editor: Editor = {
    item,
    path,
    text: typed ?? textIn(row, path),
    isTyped: typed !== undefined,
    onRemoved(text) {
      if (latest.current.editor !== editor) return;
      setEditor(undefined);
      latest.current.pending.stage([{ item, path, text }]);
    },
  };
  setEditor(editor);
}

/** Ends editing, and stages the text unless it's undefined. */
function end({ latest, setEditor }: Context, text: string | undefined): void {
  const { editor, pending } = latest.current;
  // Render immediately, because the focus moves to a cell without an editor.
  flushSync(() => {
    setEditor(undefined);
    if (editor && text !== undefined) pending.stage([{ item: editor.item, path: editor.path, text }]);
  });
}

function handleEditorKey(context: Context, event: KeyboardEvent, cell: HTMLTableCellElement): void {
  const { key, shiftKey, target } = event;
  const step = stepOf(key, shiftKey, context.latest.current.editor?.isTyped ?? false);
  // The page then saves all edits.
  const isSave = isSaveKey(event);
  if ((key !== "Escape" && !step && !isSave) || event.nativeEvent.isComposing) return;
  event.preventDefault();
  end(context, key === "Escape" ? undefined : (target as HTMLInputElement).value);
  // Perhaps other rows have come.
  if (!cell.isConnected) return;
  const next = step && neighbour(cell, step);
  (next ?? cell).focus();
  const [down, right] = step ?? [0, 0];
  if (step && !next && !turnPage(context, down + right > 0, down === 0 ? undefined : cell.cellIndex))
    context.left = cell;
}

/** A step to another cell that can be edited: rows down, or cells to the right. */
type Step = readonly [down: number, right: number];

const arrows: Readonly<Record<string, Step>> = { ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const sideArrows: Readonly<Record<string, Step>> = { ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function stepOf(key: string, isShifted: boolean, withSideArrows: boolean): Step | undefined {
  if (key === "Enter") return isShifted ? [-1, 0] : [1, 0];
  if (key === "Tab") return isShifted ? [0, -1] : [0, 1];
  return arrows[key] ?? (withSideArrows ? sideArrows[key] : undefined);
}

/** Returns the next cell that can be edited, if it's on this page. A step right from the end of a row leads to the next row. */
function neighbour(cell: HTMLTableCellElement, [down, right]: Step): HTMLElement | undefined {
  const row = cell.parentElement as HTMLTableRowElement;
  const { rows } = row.parentElement as HTMLTableSectionElement;
  if (down !== 0) return rows[row.sectionRowIndex + down]?.cells[cell.cellIndex];
  const all = [...rows].flatMap(editableIn);
  return all[all.indexOf(cell) + right];
}

const editableIn = (row: HTMLTableRowElement) => [...row.querySelectorAll<HTMLTableCellElement>("td.editable")];

/** Starts moving to the next or previous page. Returns whether there is one. @param column the cell in its row; by default, the first or last */
function turnPage(context: Context, isForward: boolean, column: number | undefined): boolean {
  const { list, page: shown } = context.latest.current;
  const page = list.query.page + (isForward ? 1 : -1);
  if (page < 1 || page > countPages(shown.total, list.query.rows)) return false;
  const end = isForward ? 0 : -1;
  function find() {
    const row = [...(context.table.current?.tBodies[0]?.rows ?? [])].at(end);
    return row && (column === undefined ? editableIn(row).at(end) : row.cells[column]);
  }
  context.awaited = { page, find, typed: "", isEnded: false };
  list.showPage(page);
  return true;
}

/** Once the awaited cell can be edited, moves to it, and starts editing it if something was typed. */
function finishWaiting(context: Context): void {
  const { awaited } = context;
  const { list, result, pending } = context.latest.current;
  if (!awaited || list.query.page !== awaited.page || result.isStale || pending.isSaving) return;
  context.awaited = undefined;
  const cell = awaited.find();
  if (!cell) return;
  stopIn(cell).focus();
  if (awaited.typed !== "" && isEditable(cell)) begin(context, cell, awaited.typed);
}

function handleWaitingKey(context: Context, awaited: Awaited, event: KeyboardEvent): void {
  const { key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  const isText = key.length === 1 || key === "Backspace";
  if (key === "Escape") context.awaited = undefined;
  else if (isText && !awaited.isEnded)
    awaited.typed = key === "Backspace" ? awaited.typed.slice(0, -1) : awaited.typed + key;
  else if (isText || awaited.typed !== "") {
    awaited.isEnded = true;
    notify(translate("record.wait"), "warning");
  }
}

/** Handles a key on a cell, or on a control in it. */
function handleCellKey(context: Context, event: KeyboardEvent, cell: HTMLTableCellElement): void {
  const { key } = event;
  const { list, pending, result } = context.latest.current;
  if (event.altKey) return;
  const isCtrl = event.ctrlKey || event.metaKey;
  const move = moves[key];
  const isText = key.length === 1 || key === "Delete" || key === "Backspace";
  if (move) {
    if (isCtrl && !/^(Home|End)$/.test(key)) return;
    event.preventDefault();
    moveFrom(context, cell, move, isCtrl);
  } else if (isCtrl) return;
  else if (isText && result.isStale) {
    // Other rows are about to replace these.
    event.preventDefault();
    event.stopPropagation();
    notify(translate("record.wait_rows"), "warning");
  } else if (isText && cell === context.left) {
    event.preventDefault();
    event.stopPropagation();
    notify(translate("record.last_row"));
  } else if (key.length === 1 && pending.isSaving && cell.dataset.column !== "ID") {
    const awaited = { page: list.query.page, find: () => cell, typed: "", isEnded: false };
    context.awaited = awaited;
    handleWaitingKey(context, awaited, event);
  } else if (isEditable(cell) && (isText || key === "Enter" || key === "F2")) {
    event.preventDefault();
    // Keeps letters from triggering the page's shortcuts.
    event.stopPropagation();
    begin(context, cell, isText ? (key.length === 1 ? key : "") : undefined);
  }
}

/** Where a key moves: rows down and cells to the right, both perhaps infinite. */
const moves: Readonly<Record<string, Step>> = {
  ...arrows,
  ...sideArrows,
  Home: [0, -Infinity],
  End: [0, Infinity],
  PageUp: [-Infinity, 0],
  PageDown: [Infinity, 0],
};

/** Moves to another cell of the table, including the headings. From the first or last row, a step up or down leads to another page. */
function moveFrom(context: Context, cell: HTMLTableCellElement, [down, right]: Step, isCtrl: boolean): void {
  const { rowIndex } = cell.parentElement as HTMLTableRowElement;
  const { rows = [] } = context.table.current ?? {};
  const last = rows.length - 1;
  const isAtEnd = (down > 0 && rowIndex === last) || (down < 0 && rowIndex <= (down === -1 ? 0 : 1));
  if (isAtEnd) return void turnPage(context, down > 0, cell.cellIndex);
  // Home and End with Ctrl, and Page Up, lead to the first row of records, not to the headings.
  const row = isCtrl ? (right < 0 ? 1 : last) : Math.max(down === -Infinity ? 1 : 0, Math.min(last, rowIndex + down));
  const cells = rows[row]?.cells;
  const next = cells?.[Math.max(0, Math.min(cells.length - 1, cell.cellIndex + right))];
  if (next) stopIn(next).focus();
}

/** Copies the focused cell's text, unless part of the page is selected. */
function copy({ latest }: Context, event: ClipboardEvent): void {
  const cell = cellOf(event.target);
  const row = latest.current.rows.find(({ item }) => cell && item.record.ID === placeOf(cell).id);
  if (!cell || !row || event.target !== cell || getSelection()?.isCollapsed === false) return;
  event.preventDefault();
  event.clipboardData.setData("text/plain", textIn(row, placeOf(cell).path));
}

/**
 * Stages pasted cells as one step, starting at the focused one, and continuing on the next pages of the list. If they don't all fit, nothing is pasted.
 * One line of text is pasted into the input as usual.
 */
async function paste(context: Context, event: ClipboardEvent): Promise<void> {
  const cell = cellOf(event.target);
  const text = event.clipboardData.getData("text/plain");
  if (!cell || !isEditable(cell) || text === "") return;
  const { rows, list, pending } = context.latest.current;
  if (isEditorInput(event.target)) {
    if (/^[^\t\r\n]*[\r\n]*$/.test(text)) return;
    end(context, event.target.value);
    cell.focus();
  }
  event.preventDefault();
  const { id, path } = placeOf(cell);
  const index = rows.findIndex(({ item }) => item.record.ID === id);
  try {
    const cells = parseCells(text);
    const items = await readOn(context, index, cells.length);
    // The operator may have left the list meanwhile.
    if (!context.table.current) throw new Error(translate("record.paste_moved"));
    const elsewhere = cells.length - (rows.length - index);
    if (pending.stage(toEdits(items, list.columns.slice(list.columns.indexOf(path)), cells)) && elsewhere > 0)
      notify(translate("record.pasted_on", { rows: toNumber(cells.length), count: toNumber(elsewhere) }));
  } catch (error) {
    notify((error as Error).message, "warning");
  }
}

/** Returns `count` records of the list, starting with the one in a row of this page. @throws Error if there are fewer */
async function readOn({ latest }: Context, row: number, count: number): Promise<readonly RecordResponse[]> {
  const { list, page, result } = latest.current;
  const shown = page.records.slice(row, row + count);
  if (shown.length === count) return shown;
  const offset = (list.query.page - 1) * list.query.rows + row;
  const left = page.total - offset;
  if (count > left) throw new Error(translate("record.paste_long", { rows: toNumber(count), count: toNumber(left) }));
  const read = await result.readPart(offset, count);
  // Otherwise cells would go into other records than those that follow the ones on the screen.
  const isSame = read.length === count && shown.every(({ record }, at) => record.ID === read[at]?.record.ID);
  if (isSame) return [...shown, ...read.slice(shown.length)];
  void result.refetch();
  throw new Error(translate("record.paste_moved"));
}

function placeOf(cell: HTMLElement): Place {
  return { id: Number((cell.parentElement as HTMLElement).dataset.key), path: cell.dataset.column ?? "" };
}

const cellOf = (target: EventTarget) => (target as Element).closest<HTMLTableCellElement>("td, th");
const isEditable = (cell: HTMLElement) => cell.classList.contains("editable");

export function textIn({ item, staged }: TableRecord, path: string): string {
  return staged?.texts.get(path) ?? textAt(item.record, path);
}

/** Returns the attributes of a field's cell: it can get the focus, and its look shows whether its edit is staged or rejected. */
export function cellAttributes(
  row: TableRecord,
  path: string,
  isEditable: boolean,
): TdHTMLAttributes<HTMLTableCellElement> {
  const { staged, editor } = row;
  const fault = staged?.faults.get(path);
  const looks = [
    isEditable && "editable",
    staged?.texts.has(path) && "staged",
    fault && "faulty",
    editor?.path === path && "editing",
  ];
  const className = looks.filter(Boolean).join(" ") || undefined;
  return { tabIndex: -1, className, "aria-invalid": fault ? true : undefined };
}

/** A cell draws two lines of a text, for which this many characters are enough. Longer texts are in its tooltip, its editor and the record's form. */
const maxDrawn = 200;
const [minTitled, maxTitle] = [40, 1000];

export function CellContent({ row, path }: { readonly row: TableRecord; readonly path: string }) {
  const { editor, staged } = row;
  const own = editor?.path === path ? editor : undefined;
  const fault = staged?.faults.get(path);
  const text = showInvisible(textIn(row, path));
  return (
    <>
      <span className="text" title={text.length >= minTitled ? shorten(text, maxTitle) : undefined}>
        {shorten(text, maxDrawn)}
      </span>
      {fault && !own && <span className="fault">{fault}</span>}
      {own && <CellEditor editor={own} />}
    </>
  );
}

function CellEditor({ editor: { path, text, isTyped, onRemoved } }: { readonly editor: Editor }) {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    const element = input.current;
    if (!element) return;
    element.focus();
    if (!isTyped) element.select();
    return () => onRemoved(element.value);
  }, [isTyped, onRemoved]);
  return (
    <input ref={input} type="text" dir="auto" aria-label={fullLabelOf(path)} defaultValue={text} autoComplete="off" />
  );
}
