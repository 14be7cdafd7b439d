// The console's only list. It's a table, or on a phone, a card for each row, with the same content, checkbox and actions.
//
// Lists may re-render on every key press, so rendering must be cheap. Cells are plain elements, styled by one rule around the whole table. A row
// re-renders only if its object, its checkbox, the columns or the actions have changed, so pass the same objects while nothing has changed.

import { Box, Link, type SxProps, type Theme } from "@mui/material";
import {
  type ComponentProps,
  type MouseEvent,
  memo,
  type ReactNode,
  type TableHTMLAttributes,
  type TdHTMLAttributes,
  useRef,
} from "react";
import { translate } from "../text/translate.ts";
import { Link as RouterLink } from "./router.tsx";
import { lowShadow, useIsNarrow } from "./theme.ts";

type RowKey = string | number;

export interface DataColumn<Row> {
  /** Unique among the columns. It's also the name to sort by. */
  readonly name: string;
  readonly label: string;
  readonly render: (row: Row) => ReactNode;
  readonly sortable?: boolean;
  readonly align?: "left" | "right";
  /** In px; more in a wide window, unless it's fixed. If columns have widths, these don't depend on the content, so that columns stay in place. */
  readonly width?: number;
  readonly isFixed?: boolean;
  /** Whether this column names the row. It's the link that opens the row, and the first line of a card. */
  readonly isPrimary?: boolean;
  /** More attributes for the table cell. */
  readonly attributes?: (row: Row) => TdHTMLAttributes<HTMLTableCellElement>;
}

interface Selection {
  readonly keys: ReadonlySet<RowKey>;
  readonly onChange: (keys: ReadonlySet<RowKey>) => void;
}

interface Sort {
  /** The column's name. */
  readonly by: string;
  readonly isDescending: boolean;
}

interface DataListProps<Row> {
  /** The list's name for screen readers. */
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly DataColumn<Row>[];
  readonly rowKey: (row: Row) => RowKey;
  /** Names a row in the labels of its checkbox and card. */
  readonly nameOf: (row: Row) => string;
  /** The address that opens a row, such as `/site/brands/7`. */
  readonly hrefOf?: ((row: Row) => string) | undefined;
  /** Opens a row, if it has no address of its own. */
  readonly onOpen?: ((row: Row) => void) | undefined;
  readonly selection?: Selection | undefined;
  readonly sort?: (Sort & { readonly onSort: (sort: Sort) => void }) | undefined;
  /** The row's actions, usually an `ActionMenu`. */
  readonly actions?: ((row: Row) => ReactNode) | undefined;
  /** Whether to dim a row, for example because it has expired. */
  readonly isPale?: ((row: Row) => boolean) | undefined;
  /** Whether it's a table on a phone, too. */
  readonly isTable?: boolean;
  /** Shown if there are no rows. */
  readonly empty?: ReactNode;
  /** More attributes for the table, for example to listen for keys. */
  readonly table?: ComponentProps<"table"> | undefined;
}

export function DataList<Row>(props: DataListProps<Row>) {
  const isNarrow = useIsNarrow();
  const latest = useRef(props);
  latest.current = props;
  const last = useRef<RowKey>(undefined);
  // They stay the same functions, so that rows needn't re-render.
  const actions = useRef<RowActions<Row>>({
    open: (row) => latest.current.onOpen?.(row),
    toggle(key, isRange) {
      const { rows, rowKey, selection } = latest.current;
      if (!selection) return;
      const keys = rows.map(rowKey);
      const [from, to] = [keys.indexOf(last.current ?? key), keys.indexOf(key)];
      const range = isRange && from >= 0 ? keys.slice(Math.min(from, to), Math.max(from, to) + 1) : [key];
      last.current = key;
      selection.onChange(withKeys(selection.keys, range, !selection.keys.has(key)));
    },
  }).current;
  if (props.rows.length === 0 && props.empty !== undefined) return props.empty;
  return isNarrow && !props.isTable ? <Cards {...props} {...actions} /> : <Table {...props} {...actions} />;
}

interface RowActions<Row> {
  readonly open: (row: Row) => void;
  /** Checks or unchecks a row. With `isRange` (Shift), this includes every row since the last one clicked. */
  readonly toggle: (key: RowKey, isRange: boolean) => void;
}

function withKeys(keys: ReadonlySet<RowKey>, changed: readonly RowKey[], isTicked: boolean): ReadonlySet<RowKey> {
  const all = new Set(keys);
  for (const key of changed) {
    if (isTicked) all.add(key);
    else all.delete(key);
  }
  return all;
}

type ShapeProps<Row> = DataListProps<Row> & RowActions<Row>;

function Table<Row>(props: ShapeProps<Row>) {
  const { label, rows, columns, rowKey, selection, actions, table } = props;
  const growing = columns.reduce((sum, { width = 0, isFixed }) => sum + (isFixed ? 0 : width), 0);
  const percent = (width?: number) => width && `${(100 * width) / growing}%`;
  return (
    <Box sx={tableStyle}>
      <table aria-label={label} {...table} {...fixedWidth(props)}>
        <colgroup>
          {selection && <col style={{ width: tickWidth }} />}
          {columns.map(({ name, width, isFixed }) => (
            <col key={name} style={{ width: isFixed ? width : percent(width) }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {selection && (
              <th className="tick">
                <TickAll rows={rows} rowKey={rowKey} selection={selection} />
              </th>
            )}
            {columns.map((column) => (
              <Heading key={column.name} column={column} sort={props.sort} />
            ))}
            {actions && <td />}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <TableRow key={rowKey(row)} {...toRowProps(row, props)} />
          ))}
        </tbody>
      </table>
    </Box>
  );
}

const tickWidth = 36;

/** Attributes for a table whose columns have widths. In a narrow window, it scrolls. */
function fixedWidth<Row>({ columns }: ShapeProps<Row>): TableHTMLAttributes<HTMLTableElement> {
  const minWidth = columns.reduce((sum, { width = 0 }) => sum + width, 0);
  return minWidth === 0 ? {} : { style: { tableLayout: "fixed", minWidth: minWidth + tickWidth } };
}

type Shape = ShapeProps<unknown>;

interface RowProps {
  readonly id: RowKey;
  readonly row: unknown;
  readonly shape: Shape;
  /** Undefined if rows can't be selected. */
  readonly isTicked: boolean | undefined;
  readonly isPale: boolean | undefined;
}

function toRowProps<Row>(row: Row, props: ShapeProps<Row>): RowProps {
  const id = props.rowKey(row);
  const shape = props as unknown as Shape;
  return { id, row, shape, isTicked: props.selection?.keys.has(id), isPale: props.isPale?.(row) };
}

/** Re-renders a row only if one of these changed. The list's functions may be new on each render. */
function isSameRow(before: RowProps, after: RowProps): boolean {
  return (
    before.row === after.row &&
    before.isTicked === after.isTicked &&
    before.isPale === after.isPale &&
    before.shape.columns === after.shape.columns &&
    before.shape.actions === after.shape.actions &&
    before.shape.hrefOf === after.shape.hrefOf
  );
}

const TableRow = memo(function TableRow({ id, row, shape, isTicked, isPale }: RowProps) {
  const { columns, onOpen, open, actions } = shape;
  const openRow = onOpen && ((event: MouseEvent) => isOnControl(event) || open(row));
  return (
    <tr
      data-key={id}
      className={classes(isTicked && "ticked", isPale && "pale", onOpen && "openable")}
      onClick={openRow}
    >
      {isTicked !== undefined && (
        <td className="tick">
          <Tick id={id} row={row} shape={shape} isTicked={isTicked} />
        </td>
      )}
      {columns.map((column) => (
        <td
          key={column.name}
          data-column={column.name}
          className={column.align === "right" ? "right" : undefined}
          {...column.attributes?.(row)}
        >
          <Content row={row} shape={shape} column={column} />
        </td>
      ))}
      {actions && <td className="actions">{actions(row)}</td>}
    </tr>
  );
}, isSameRow);

const classes = (...names: readonly unknown[]) => names.filter(Boolean).join(" ") || undefined;

/** Whether the clicked element, or one around it, handles clicks itself. A row's menus and dialogs are elsewhere in the document. */
function isOnControl({ target, currentTarget }: MouseEvent): boolean {
  const control = (target as Element).closest("a, button, input, label, select, textarea, .MuiModal-root, .tick");
  return control !== null || !currentTarget.contains(target as Element);
}

interface ContentProps extends Pick<RowProps, "row" | "shape"> {
  readonly column: DataColumn<unknown>;
}

/** A column's content. In the primary column it's a link or button, so that the row can be opened without a mouse. */
function Content({ row, shape: { hrefOf, onOpen, open }, column }: ContentProps) {
  const content = column.render(row);
  if (column.isPrimary && hrefOf)
    return (
      <RouterLink to={hrefOf(row)} className="opener">
        {content}
      </RouterLink>
    );
  if (column.isPrimary && onOpen)
    return (
      <Link component="button" className="opener" onClick={() => open(row)}>
        {content}
      </Link>
    );
  return content;
}

interface HeadingProps<Row> extends Pick<DataListProps<Row>, "sort"> {
  readonly column: DataColumn<Row>;
}

function Heading<Row>({ column, sort }: HeadingProps<Row>) {
  const { name, label, sortable, align } = column;
  const look = align === "right" ? "right" : undefined;
  if (!sort || !sortable)
    return (
      <th scope="col" className={look}>
        {label}
      </th>
    );
  const isSorted = sort.by === name;
  const isDescending = isSorted && !sort.isDescending;
  const order = translate(isDescending ? "list.descending" : "list.ascending");
  return (
    <th scope="col" className={look} aria-sort={isSorted ? (sort.isDescending ? "descending" : "ascending") : "none"}>
      <button
        type="button"
        aria-label={translate("list.sort_by", { field: label, order })}
        onClick={() => sort.onSort({ by: name, isDescending })}
      >
        {label}
      </button>
    </th>
  );
}

function Tick({ id, row, shape: { nameOf, toggle }, isTicked }: Omit<RowProps, "isPale">) {
  // Makes the whole label clickable.
  return (
    <label>
      <input
        type="checkbox"
        aria-label={translate("list.tick", { name: nameOf(row) })}
        checked={isTicked}
        onChange={({ nativeEvent }) => toggle(id, (nativeEvent as PointerEvent).shiftKey)}
      />
    </label>
  );
}

interface TickAllProps<Row> extends Pick<DataListProps<Row>, "rows" | "rowKey"> {
  readonly selection: Selection;
  /** Next to the checkbox. */
  readonly children?: ReactNode;
}

function TickAll<Row>({ rows, rowKey, selection: { keys, onChange }, children }: TickAllProps<Row>) {
  const all = rows.map(rowKey);
  const count = all.filter((key) => keys.has(key)).length;
  const isAll = count > 0 && count === all.length;
  return (
    <label>
      <input
        type="checkbox"
        aria-label={translate("list.tick_all")}
        checked={isAll}
        ref={(element) => {
          if (element) element.indeterminate = count > 0 && !isAll;
        }}
        onChange={() => onChange(withKeys(keys, all, !isAll))}
      />
      {children}
    </label>
  );
}

/** The rows as cards, with the same content as the table. Columns without a label stand alone; others follow their label. */
function Cards<Row>(props: ShapeProps<Row>) {
  const { label, rows, rowKey, selection } = props;
  return (
    <Box sx={cardsStyle}>
      {selection && rows.length > 0 && (
        <div className="all">
          <TickAll rows={rows} rowKey={rowKey} selection={selection}>
            {translate("list.tick_all")}
          </TickAll>
        </div>
      )}
      <ul aria-label={label}>
        {rows.map((row) => (
          <CardOf key={rowKey(row)} {...toRowProps(row, props)} />
        ))}
      </ul>
    </Box>
  );
}

const CardOf = memo(function CardOf({ id, row, shape, isTicked, isPale }: RowProps) {
  const { columns, nameOf, actions } = shape;
  return (
    <li className={classes(isTicked && "ticked", isPale && "pale")} aria-label={nameOf(row)}>
      {isTicked !== undefined && (
        <div className="tick">
          <Tick id={id} row={row} shape={shape} isTicked={isTicked} />
        </div>
      )}
      <div className="content">
        {[...columns].sort(primaryFirst).map((column) => (
          <div
            key={column.name}
            className={classes(column.isPrimary ? "primary" : "fact", column.attributes?.(row).className)}
          >
            {!column.isPrimary && column.label && <span className="label">{column.label}</span>}
            <span>
              <Content row={row} shape={shape} column={column} />
            </span>
          </div>
        ))}
      </div>
      {actions && <div className="actions">{actions(row)}</div>}
    </li>
  );
}, isSameRow);

type Primary = { readonly isPrimary?: boolean };
const primaryFirst = ({ isPrimary: one = false }: Primary, { isPrimary: other = false }: Primary) =>
  Number(other) - Number(one);

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
  // Keeps a long request path from covering the next column.
  "& code": { overflowWrap: "anywhere" },
  "& .named": { display: "inline-flex", alignItems: "center", gap: 1.25 },
  "& .lines": { display: "flex", flexDirection: "column", alignItems: "flex-start" },
  "& .fact .lines": { alignItems: "flex-end" },
  "& .lines small, & time, & .whole": { whiteSpace: "nowrap" },
  "& .lines small, & .lines code": { color: "text.secondary", fontSize: 12 },
  // A long text takes two lines.
  "& .text": { display: "-webkit-box", WebkitBoxOrient: "vertical", WebkitLineClamp: "2", overflow: "hidden" },
  // For those who don't see the colours, and for screen readers, cells also have marks.
  "& .staged": { bgcolor: "color-mix(in srgb, #eab308 22%, transparent)" },
  "& .faulty": { bgcolor: `color-mix(in srgb, ${theme.palette.error.main} 14%, transparent)` },
  "& .staged::after": { content: `"●" / "${translate("list.edited")}"`, fontSize: 10, lineHeight: 1 },
  "& .faulty::after": { content: `"▲" / "${translate("list.invalid")}"`, fontSize: 10, lineHeight: 1 },
  "& .fault": { display: "block", color: "error.main", fontSize: 12 },
  "& .pale": { color: "text.secondary" },
  "& .ticked": { bgcolor: "action.selected" },
});

/** The table as a grid (records/cell-editing.tsx): its headings stay in view, cells show that they're staged or rejected, and the input covers the text. */
const gridStyle = {
  "& > [aria-busy=true] > tbody": { opacity: 0.6 },
  "& > [role=grid] > thead > tr > *": {
    position: "sticky",
    top: 0,
    zIndex: 1,
    bgcolor: "background.paper",
    backgroundImage: (theme: Theme) => `linear-gradient(${theme.palette.action.hover} 0 0)`,
    boxShadow: (theme: Theme) => `inset 0 -1px ${theme.palette.divider}`,
  },
  "& > [role=grid] td[data-column=ID]": { position: "relative" },
  "& > [role=grid] td .opener": { color: "primary.main", fontWeight: 400, textDecoration: "underline" },
  "& > [role=grid] td .opener::after": { content: '""', position: "absolute", inset: 0 },
  "& td.editable": { cursor: "text" },
  "& td:is(.editable, .staged, .faulty)": { position: "relative" },
  "& td:is(.staged, .faulty)::after": { position: "absolute", top: 1, right: 3 },
  "& td.editable:hover": { boxShadow: "inset 0 0 0 1px", color: "text.primary" },
  "& td:focus": { outline: "2px solid", outlineColor: "primary.main", outlineOffset: "-2px !important" },
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

const tableStyle: SxProps<Theme> = [
  sharedStyle,
  (theme) => ({
    overflowX: "auto",
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
      whiteSpace: { xs: "normal", md: "nowrap" },
    },
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
    ...gridStyle,
  }),
];

const cardsStyle: SxProps<Theme> = [
  sharedStyle,
  {
    fontSize: 14,
    fontVariantNumeric: "tabular-nums",
    "& .all": { borderBottom: 1, borderColor: "divider" },
    "& .all label": { gap: 1.5, px: 1.5, minHeight: 44, color: "text.secondary" },
    "& ul": { listStyle: "none", m: 0, p: 0 },
    "& li": {
      position: "relative",
      display: "flex",
      alignItems: "flex-start",
      minHeight: 44,
      borderBottom: 1,
      borderColor: "divider",
    },
    "& li:last-of-type": { borderBottom: 0 },
    "& .tick label": { minHeight: 44, minWidth: 44, justifyContent: "center" },
    "& .content": { flexGrow: 1, minWidth: 0, py: 1.25, px: 1.5, overflowWrap: "anywhere" },
    "& .tick + .content": { pl: 0.5 },
    // The whole card opens the row, except for its other controls.
    "& .primary .opener::after": { content: '""', position: "absolute", inset: 0 },
    "& .tick, & .actions, & .fact :is(a, button)": { position: "relative", zIndex: 1 },
    "& .fact": { display: "flex", justifyContent: "space-between", gap: 2, color: "text.secondary", mt: 0.25 },
    "& .fact:has(> span:last-child:empty, .lines:empty)": { display: "none" },
    "& .fact > span": { minWidth: 0, textAlign: "right" },
    "& .fact > .label": { flexShrink: 0, textAlign: "left", mr: "auto" },
    "& .actions": { flexShrink: 0, pt: 0.5, pr: 0.5 },
  },
];
