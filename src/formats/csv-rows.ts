// Rows of CSV text (RFC 4180). Lines may end with CRLF, LF or CR, also mixed. A chunk of text may end anywhere.

/** A row, and the fault in its quoting, if any. */
interface CsvRow {
  readonly cells: string[];
  readonly fault: string | undefined;
}

/** In characters. Bounds the memory for a quoted cell that is never closed. */
export const maxRowLength = 1 << 20;

/** The rows of a text. Yields the rows that each chunk completes, and `undefined` as the last value if a row is longer than `maxRowLength`. */
export async function* readCsvRows(chunks: AsyncIterable<string>): AsyncGenerator<CsvRow[] | undefined> {
  let rest = "";
  for await (const chunk of chunks) {
    const text = rest + chunk;
    const { rows, next } = takeRows(text, false);
    rest = text.slice(next);
    yield rows;
    if (rest.length > maxRowLength) return void (yield undefined);
  }
  yield takeRows(rest, true).rows;
}

/** A row of text with its line end. */
export function toCsvRow(cells: readonly (string | number)[]): string {
  return `${cells.map((cell) => quoted(String(cell))).join(",")}\r\n`;
}

/** Also quotes cells that begin or end with white space, because some programs trim them. */
function quoted(cell: string): string {
  return /[",\r\n\ufeff]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** The complete rows of `text`, and the start of the next one. */
function takeRows(text: string, isEnd: boolean): { rows: CsvRow[]; next: number } {
  const rows: CsvRow[] = [];
  let next = 0;
  while (next < text.length) {
    const taken = takeRow(text, next, isEnd);
    if (!taken) break;
    rows.push(taken.row);
    next = taken.next;
  }
  return { rows, next };
}

const cellEnd = /[,\r\n]/g;

/** The row at `start`, or undefined if its end is not in `text` yet. */
function takeRow(text: string, start: number, isEnd: boolean): { row: CsvRow; next: number } | undefined {
  const cells: string[] = [];
  let fault: string | undefined;
  let at = start;
  while (true) {
    const isQuoted = text[at] === '"';
    const inside = isQuoted ? takeQuoted(text, at + 1) : { cell: "", next: at, isClosed: true };
    cellEnd.lastIndex = inside.next;
    const end = cellEnd.exec(text)?.index ?? text.length;
    if (!isEnd && (end === text.length || (text[end] === "\r" && end + 1 === text.length))) return undefined;
    if (!inside.isClosed)
      fault ??= "a quoted cell of this row is never closed; the rest of the file was read as part of it";
    else if (isQuoted && end > inside.next) fault ??= 'text follows a closing quote; write a quote inside as ""';
    cells.push(inside.cell + text.slice(inside.next, end));
    if (text[end] !== ",") return { row: { cells, fault }, next: end + (text.startsWith("\r\n", end) ? 2 : 1) };
    at = end + 1;
  }
}

/** The content of a quoted cell, and the position after its closing quote. */
function takeQuoted(text: string, start: number): { cell: string; next: number; isClosed: boolean } {
  let cell = "";
  let at = start;
  while (true) {
    const quote = text.indexOf('"', at);
    if (quote === -1) return { cell: cell + text.slice(at), next: text.length, isClosed: false };
    cell += text.slice(at, quote);
    if (text[quote + 1] !== '"') return { cell, next: quote + 1, isClosed: true };
    cell += '"';
    at = quote + 2;
  }
}
