// Editing in the table of records. A click, Enter or typing starts editing a cell. Enter, Tab and arrow keys move on to the next cell, even on the
// next or previous page, and Escape discards what was typed. Edits are staged (staged-edits.ts). Cells can be pasted from a spreadsheet.

import {
  type ClipboardEvent,
  type KeyboardEvent,
  type MouseEvent,
  type TableHTMLAttributes,
  type TdHTMLAttributes,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { flushSync } from "react-dom";
import type { RecordResponse } from "../../admin/api/record-types.ts";
import { Link } from "../shell/router.tsx";
import { isSaveKey } from "../shell/unsaved.ts";
import { fullLabelOf, textAt } from "../text/fields.ts";
import { showInvisible } from "../text/translate.ts";
import { type Edit, type Place, parseCells, type StagedRecord, toEdits } from "./staged-edits.ts";

interface Editor {
  readonly id: number;
  readonly path: string;
  /** What the input starts with. */
  readonly text: string;
  /** Whether editing started by typing. Then arrow keys leave the cell, as in a spreadsheet; otherwise they move within the text. */
  readonly isTyped: boolean;
}

/** A row of the table. It stays the same object until something in it changes. */
export interface TableRecord {
  readonly item: RecordResponse;
  readonly staged: StagedRecord | undefined;
  /** The editor, if one of its cells is being edited. */
  readonly editor: Editor | undefined;
}

interface PagesOfList {
  /** The page number in the address, from 1. */
  readonly number: number;
  readonly count: number;
  /** Whether the rows still belong to another page or search. */
  readonly isStale: boolean;
  readonly show: (number: number) => void;
  /** Preloads a page. */
  readonly prepare: (number: number) => void;
}

interface Editing {
  readonly items: readonly RecordResponse[];
  readonly stagedRecords: ReadonlyMap<number, StagedRecord>;
  /** The columns' fields, from left to right. */
  readonly paths: readonly string[];
  readonly onEdits: (edits: readonly Edit[]) => void;
  /** Called with the number of pasted rows that didn't fit on the page. */
  readonly onCut: (rows: number) => void;
  readonly pages: PagesOfList;
  /** Called if a key would overwrite the cell that was just edited, because there is no cell after it. */
  readonly onEnd: () => void;
}

export function useCellEditing({ items, stagedRecords, ...rest }: Editing) {
  const [editor, setEditor] = useState<Editor>();
  const rows = useRows(items, stagedRecords, editor);
  const latest = useRef<TableState>({ ...rest, rows, editor });
  latest.current = { ...rest, rows, editor };
  const context = useMemo((): Context => ({ latest, setEditor, turn: undefined, left: undefined }), []);
  const table = useMemo(() => createListeners(context), [context]);
  // Runs once the rows are rendered.
  useEffect(() => finishTurn(context));
  return { rows, table };
}

/** Returns the rows. Those in which nothing has changed are the same objects as in the last render. */
function useRows(
  items: Editing["items"],
  stagedRecords: Editing["stagedRecords"],
  editor: Editor | undefined,
): readonly TableRecord[] {
  const before = useRef<readonly TableRecord[]>([]);
  const rows = useMemo(() => {
    const known = new Map(before.current.map((row) => [row.item.record.ID, row]));
    return items.map((item): TableRecord => {
      const id = item.record.ID;
      const staged = stagedRecords.get(id);
      const own = editor?.id === id ? editor : undefined;
      const row = known.get(id);
      const isSame = row?.item.version === item.version && row.staged === staged && row.editor === own;
      return isSame ? row : { item, staged, editor: own };
    });
  }, [items, stagedRecords, editor]);
  before.current = rows;
  return rows;
}

interface TableState extends Omit<Editing, "items" | "stagedRecords"> {
  readonly rows: readonly TableRecord[];
  readonly editor: Editor | undefined;
}

/** The table's state for its listeners, and the function that changes it. */
interface Context {
  readonly latest: { readonly current: TableState };
  readonly setEditor: (editor: Editor | undefined) => void;
  /** A move to a cell of another page that isn't shown yet. */
  turn: Turn | undefined;
  /**
   * The cell that was just edited, if there was no other cell to move to. Typing there doesn't start an edit, because it would overwrite the text
   * unseen.
   */
  left: HTMLElement | undefined;
}

interface Turn {
  readonly table: HTMLElement;
  readonly page: number;
  readonly step: Step;
  /** The column to move to. */
  readonly column: string | undefined;
  /** What was typed meanwhile, which goes into that cell. */
  typed: string;
}

/** Creates the table's listeners once, so that they never make rows re-render. */
function createListeners(context: Context): TableHTMLAttributes<HTMLTableElement> {
  return {
    role: "grid",
    onClick(event: MouseEvent) {
      const cell = cellOf(event.target);
      const isOnControl = (event.target as Element).closest("a, button, input, label");
      if (cell && isEditable(cell) && !isOnControl && getSelection()?.isCollapsed !== false) begin(context, cell);
    },
    onKeyDown(event: KeyboardEvent) {
      const cell = cellOf(event.target);
      if (!cell) return;
      if (isEditorInput(event.target)) handleEditorKey(context, event, cell);
      else if (context.turn) handleTurnKey(context, context.turn, event);
      else handleCellKey(context, event, cell);
    },
    onBlur(event) {
      context.left = undefined;
      // If a row is removed, its cell loses the focus without a related target.
      if (event.relatedTarget) context.turn = undefined;
      if (isEditorInput(event.target) && context.latest.current.editor) end(context, event.target.value);
    },
    onCopy: (event) => copy(context, event),
    onPaste: (event) => paste(context, event),
  };
}

function isEditorInput(target: EventTarget): target is HTMLInputElement {
  return target instanceof HTMLInputElement && target.type === "text";
}

/** Starts editing a cell. @param typed the first characters, if editing starts by typing */
function begin({ latest, setEditor }: Context, cell: HTMLElement, typed?: string): void {
  const { id, path } = placeOf(cell);
  const { rows, pages } = latest.current;
  const row = rows.find(({ item }) => item.record.ID === id);
  if (row === rows.at(-1) && pages.number < pages.count) pages.prepare(pages.number + 1);
  if (row) setEditor({ id, path, text: typed ?? textIn(row, path), isTyped: typed !== undefined });
}

/** Ends editing, and stages the text unless it's undefined. */
function end({ latest, setEditor }: Context, text: string | undefined): void {
  const { editor, rows, onEdits } = latest.current;
  const row = rows.find(({ item }) => item.record.ID === editor?.id);
  // Render immediately, because the focus moves to a cell without an editor.
  flushSync(() => {
    setEditor(undefined);
    if (editor && row && text !== undefined) onEdits([{ item: row.item, path: editor.path, text }]);
  });
}

function handleEditorKey(context: Context, event: KeyboardEvent, cell: HTMLElement): void {
  const { key, shiftKey, target } = event;
  const step = stepOf(key, shiftKey, context.latest.current.editor?.isTyped ?? false);
  // The page then saves all edits.
  const isSave = isSaveKey(event);
  if ((key !== "Escape" && !step && !isSave) || event.nativeEvent.isComposing) return;
  event.preventDefault();
  end(context, key === "Escape" ? undefined : (target as HTMLInputElement).value);
  const next = step && neighbour(cell, step);
  (next ?? cell).focus();
  if (step && !next && !turnPage(context, cell, step)) context.left = cell;
}

/** Starts moving to the next or previous page. Returns whether there is one. */
function turnPage(context: Context, cell: HTMLElement, step: Step): boolean {
  const { pages } = context.latest.current;
  const page = pages.number + (isForward(step) ? 1 : -1);
  const table = cell.closest("table");
  if (!table || page < 1 || page > pages.count) return false;
  context.turn = { table, page, step, column: step[0] === 0 ? undefined : cell.dataset.column, typed: "" };
  pages.show(page);
  return true;
}

const isForward = ([down, right]: Step) => down + right > 0;

/** Moves to the cell on another page once its rows are rendered. Starts editing it if something was typed meanwhile. */
function finishTurn(context: Context): void {
  const { turn } = context;
  const { number, isStale } = context.latest.current.pages;
  if (!turn || number !== turn.page || isStale) return;
  const isAtStart = isForward(turn.step);
  const row = turn.table.querySelector<HTMLTableRowElement>(`tbody > tr:${isAtStart ? "first" : "last"}-of-type`);
  const cells = cellsOf(row ?? undefined);
  const cell = cells.find(({ dataset }) => dataset.column === turn.column) ?? cells.at(isAtStart ? 0 : -1);
  cell?.focus();
  context.turn = undefined;
  if (cell && turn.typed !== "" && isEditable(cell)) begin(context, cell, turn.typed);
}

/** Handles a key while another page is loading: what's typed belongs to the cell there. */
function handleTurnKey(context: Context, turn: Turn, event: KeyboardEvent): void {
  const { key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  if (key === "Escape") context.turn = undefined;
  else if (key === "Backspace") turn.typed = turn.typed.slice(0, -1);
  else if (key.length === 1) turn.typed += key;
}

/** Handles a key on a cell, or on a control in it. */
function handleCellKey(context: Context, event: KeyboardEvent, cell: HTMLElement): void {
  const { key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isOnCell = event.target === cell;
  // From a checkbox or link, Tab moves on to the next one, as on any page.
  const step =
    arrows[key] ?? sideArrows[key] ?? (isOnCell && key === "Tab" ? stepOf(key, event.shiftKey, false) : undefined);
  const next = step && neighbour(cell, step);
  const isText = key.length === 1 || key === "Delete" || key === "Backspace";
  if (step) {
    // After the page's last cell, Tab leaves the table.
    if (key !== "Tab" || next) event.preventDefault();
    next?.focus();
    if (!next && isOnCell && step[0] !== 0) turnPage(context, cell, step);
  } else if (isText && cell === context.left) {
    event.preventDefault();
    event.stopPropagation();
    context.latest.current.onEnd();
  } else if (isOnCell && isEditable(cell) && (isText || key === "Enter" || key === "F2")) {
    event.preventDefault();
    // Keeps letters from triggering the page's shortcuts.
    event.stopPropagation();
    begin(context, cell, isText ? (key.length === 1 ? key : "") : undefined);
  }
}

/** Copies the focused cell's text, unless part of the page is selected. */
function copy({ latest }: Context, event: ClipboardEvent): void {
  const cell = cellOf(event.target);
  const row = latest.current.rows.find(({ item }) => cell && item.record.ID === placeOf(cell).id);
  if (!cell || !row || event.target !== cell || getSelection()?.isCollapsed === false) return;
  event.preventDefault();
  event.clipboardData.setData("text/plain", textIn(row, placeOf(cell).path));
}

/** Stages pasted cells, starting at the focused one. A single text is pasted into the input as usual. */
function paste(context: Context, event: ClipboardEvent): void {
  const cell = cellOf(event.target);
  const text = event.clipboardData.getData("text/plain");
  const cells = parseCells(text);
  const isOne = cells.length === 1 && cells[0]?.length === 1;
  if (!cell || !isEditable(cell) || text === "" || (isOne && event.target !== cell)) return;
  event.preventDefault();
  if (event.target !== cell) end(context, undefined);
  const { rows, paths } = context.latest.current;
  const items = rows.map(({ item }) => item);
  const { edits, cut } = toEdits({ items, paths }, placeOf(cell), cells);
  context.latest.current.onEdits(edits);
  if (cut > 0) context.latest.current.onCut(cut);
}

function placeOf(cell: HTMLElement): Place {
  return { id: Number((cell.parentElement as HTMLElement).dataset.key), path: cell.dataset.column ?? "" };
}

const cellOf = (target: EventTarget) => (target as Element).closest<HTMLElement>("tbody td");
const isEditable = (cell: HTMLElement) => cell.classList.contains("editable");

function textIn({ item, staged }: TableRecord, path: string): string {
  return staged?.texts.get(path) ?? textAt(item.record, path);
}

/** A step to another cell: rows down, cells to the right. */
type Step = readonly [down: number, right: number];

const arrows: Readonly<Record<string, Step>> = { ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const sideArrows: Readonly<Record<string, Step>> = { ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function stepOf(key: string, isShifted: boolean, withSideArrows: boolean): Step | undefined {
  if (key === "Enter") return isShifted ? [-1, 0] : [1, 0];
  if (key === "Tab") return isShifted ? [0, -1] : [0, 1];
  return arrows[key] ?? (withSideArrows ? sideArrows[key] : undefined);
}

const cellsOf = (row: HTMLTableRowElement | undefined) => [
  ...(row?.querySelectorAll<HTMLElement>("td[data-column]") ?? []),
];

/** Returns the next editable cell in a direction. A step right from the end of a row leads to the next row. */
function neighbour(cell: HTMLElement, [down, right]: Step): HTMLElement | null {
  const row = cell.parentElement as HTMLTableRowElement;
  const { rows } = row.parentElement as HTMLTableSectionElement;
  const at = [...rows].indexOf(row);
  if (down !== 0)
    return (
      cellsOf(rows[at + down]).find((one) => one.dataset.column === cell.dataset.column) ??
      cellsOf(rows[at + down])[0] ??
      null
    );
  const all = [rows[at - 1], row, rows[at + 1]].flatMap(cellsOf);
  const index = all.indexOf(cell);
  // The checkbox comes before the row's first cell.
  const own = index < 0 ? all.indexOf(cellsOf(row)[0] as HTMLElement) - (right > 0 ? 1 : 0) : index;
  return all[own + right] ?? null;
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

interface CellProps {
  readonly row: TableRecord;
  readonly path: string;
  /** Where the text links to. */
  readonly href?: string | undefined;
}

export function CellContent({ row, path, href }: CellProps) {
  const { editor, staged, item } = row;
  if (editor?.path === path) return <CellEditor editor={editor} />;
  const fault = staged?.faults.get(path);
  const shown = showInvisible(textIn(row, path));
  const isUnnamed = href !== undefined && shown === "";
  return (
    <>
      {href === undefined ? (
        shown
      ) : (
        <Link to={href} className="opener">
          {isUnnamed ? `#${item.record.ID}` : shown}
        </Link>
      )}
      {fault && <span className="fault">{fault}</span>}
    </>
  );
}

function CellEditor({ editor: { path, text, isTyped } }: { readonly editor: Editor }) {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    input.current?.focus();
    if (!isTyped) input.current?.select();
  }, [isTyped]);
  return (
    <>
      {/* Keeps the width of the column. */}
      <span aria-hidden>{showInvisible(text) || " "}</span>
      <input ref={input} type="text" dir="auto" aria-label={fullLabelOf(path)} defaultValue={text} autoComplete="off" />
    </>
  );
}
