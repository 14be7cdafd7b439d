// CSV as text (RFC 4180), row by row. Line ends may be CRLF, LF or CR, also mixed; a chunk of text may end anywhere.

/** A row, and what is wrong with its quotes. */
interface CsvRow {
  readonly cells: string[];
  readonly fault: string | undefined;
}

/** Longest row, in characters. It bounds what a quote that never closes keeps in memory. */
export const longestRow = 1 << 20;

/** The rows of the text that `chunks` make, those of a chunk together; undefined once a row is too long. */
export async function* readCsvRows(chunks: AsyncIterable<string>): AsyncGenerator<CsvRow[] | undefined> {
  let rest = "";
  for await (const chunk of chunks) {
    const text = rest + chunk;
    const { rows, next } = takeRows(text, false);
    rest = text.slice(next);
    yield rows;
    if (rest.length > longestRow) return void (yield undefined);
  }
  yield takeRows(rest, true).rows;
}

/** A row, with its line end. */
export function toCsvRow(cells: readonly (string | number)[]): string {
  return `${cells.map((cell) => quoted(String(cell))).join(",")}\r\n`;
}

/** Blanks at the ends are quoted as well, since some programs drop them otherwise. */
function quoted(cell: string): string {
  return /[",\r\n\ufeff]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** Every row of `text` that is there whole, and where the next one begins. */
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

/** The row that begins at `start`; undefined when more text is needed to know where it ends. */
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
    if (!inside.isClosed) fault ??= "a quote opens in this row and never closes; what follows was read as part of it";
    else if (isQuoted && end > inside.next) fault ??= 'text follows a closing quote; write a quote inside as ""';
    cells.push(inside.cell + text.slice(inside.next, end));
    if (text[end] !== ",") return { row: { cells, fault }, next: end + (text.startsWith("\r\n", end) ? 2 : 1) };
    at = end + 1;
  }
}

/** What stands between the quotes, and where the text goes on after them. */
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
