// Options of `import` and `export` for files from other programs.

import { statSync } from "node:fs";
import { Readable } from "node:stream";
import { type Command, InvalidArgumentError, Option } from "commander";
import { isDelimiter } from "../../formats/csv.ts";
import { type CsvMapping, formatMapping, parseMapping } from "../../formats/csv-mapping.ts";
import { toFileError } from "../../formats/syntax-errors.ts";
import { decodeText, encodingHint } from "../../formats/text-encoding.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import { requireFolder, writeFile } from "../../operator/files/atomic-file.ts";
import { isStandardInput, isStandardOutput } from "../../operator/files/standard-streams.ts";
import { type FileFormat, fileFormats, formatOf } from "../../operator/import/file-rows.ts";
import type { TableOptions } from "../../operator/import/open-table.ts";
import { openInput } from "./input-file.ts";
import { UsageError } from "./usage-error.ts";

/** As typed. */
export interface TableFlags {
  readonly delimiter?: string;
  readonly encoding?: string;
  readonly sheet?: string;
  readonly headerRow?: number;
  /** False with --no-header. */
  readonly header: boolean;
  readonly guess?: true;
  readonly map?: string;
  readonly saveMap?: string;
  readonly rejects?: string;
}

/** @param byDefault what the help says about leaving it out */
export function formatOption(byDefault: string): Option {
  return new Option("--format <format>", `file format (default: ${byDefault})`).choices(fileFormats);
}

/** @param byDefault as for `formatOption` */
export function withDelimiterOption(command: Command, byDefault: string): Command {
  return command.option(
    "--delimiter <character>",
    `character that separates the cells of a CSV file, such as ; or tab (${byDefault})`,
    parseDelimiter,
  );
}

export function withTableOptions(command: Command): Command {
  return withDelimiterOption(command, "default: detected")
    .option(
      "--encoding <name>",
      "encoding of a CSV file, such as windows-1252 (default: a detected Unicode encoding, else utf-8)",
      parseEncoding,
    )
    .option("--sheet <name>", "sheet of a workbook, or its number (default: the first that names fields)")
    .option(
      "--header-row <number>",
      "row that names the columns (default: the one that names the most fields)",
      parseRow,
    )
    .option("--no-header", "there's no header row; --map then uses letters, such as A")
    .option("--guess", "guess which columns become which fields, and the encoding")
    .option("--map <file>", "JSON file that maps columns to fields (default: columns are named after fields)")
    .option("--save-map <file>", "save the mapping that was used here, for --map")
    .option("--rejects <file>", "save rejected rows here, so you can fix and re-import them");
}

/**
 * Checks the options for `file`, and reads the mapping.
 * @throws UsageError if options don't apply to the format or can't be combined, or a file to write is unusable
 * @throws ProblemError if the mapping can't be read or is invalid, or a folder is missing
 */
export async function readTableFlags(
  resource: Resource,
  file: string,
  format: FileFormat,
  flags: TableFlags,
): Promise<TableOptions> {
  const { delimiter, encoding, sheet, headerRow, header, guess, map, saveMap, rejects } = flags;
  requireFormat("CSV files", ["csv"], format, { delimiter, encoding });
  requireFormat("workbooks", ["xlsx"], format, { sheet });
  requireFormat("CSV files and workbooks", ["csv", "xlsx"], format, {
    "header-row": headerRow,
    "no-header": header ? undefined : true,
    guess,
    map,
    "save-map": saveMap,
  });
  if (!header && headerRow !== undefined) throw new UsageError("use either --header-row or --no-header, not both");
  if (!header && guess) throw new UsageError("--guess goes by the columns' names, so it doesn't work with --no-header");
  if (guess && map !== undefined) throw new UsageError("use either --guess or --map, not both");
  if (rejects !== undefined) {
    requireDistinctFile("rejects", rejects, [file, ...(map === undefined ? [] : [map])]);
    requireMatchingExtension(rejects, format);
  }
  if (saveMap !== undefined) {
    requireDistinctFile("save-map", saveMap, [file, ...(rejects === undefined ? [] : [rejects])]);
    requireFolder(saveMap);
  }
  const mapping = map === undefined ? undefined : await readMappingFile(resource, map);
  return { delimiter, encoding, sheet, headerRow: header ? headerRow : 0, mapping };
}

/** @throws UsageError if one of `options` was given for a format that it doesn't apply to. @param what the formats it applies to */
export function requireFormat(
  what: string,
  formats: readonly FileFormat[],
  format: FileFormat,
  options: Readonly<Record<string, unknown>>,
): void {
  const given = Object.keys(options).find((name) => options[name] !== undefined);
  if (!formats.includes(format) && given)
    throw new UsageError(`--${given} only works with ${what}, and this one is ${format}`);
}

/** @throws UsageError */
export function requireOneStandardInput(file: string, map: string | undefined): void {
  if (map !== undefined && isStandardInput(map) && isStandardInput(file))
    throw new UsageError("--map and the rows can't both be standard input; use a file for one of them");
}

/** Saves a mapping for `--map`. @throws ProblemError `unavailable` */
export async function saveMapping(file: string, mapping: CsvMapping): Promise<void> {
  await writeFile(file, Readable.from([formatMapping(mapping)]));
}

/** In bytes. */
const maxMappingSize = 1 << 20;

async function readMappingFile(resource: Resource, map: string): Promise<CsvMapping> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of openInput(map)) {
    size += chunk.length;
    if (size > maxMappingSize)
      throw new ProblemError("too-large", `${map} is larger than 1 MiB, too large for a column mapping; check --map`);
    chunks.push(chunk);
  }
  try {
    return parseMapping(resource, (await Array.fromAsync(decodeText(chunks))).join(""));
  } catch (thrown) {
    const error = toFileError(thrown);
    if (!(error instanceof ProblemError)) throw error;
    const { code, message, fieldErrors } = error;
    throw new ProblemError(code, `${map}: ${message}`, { fieldErrors });
  }
}

/** @throws UsageError if the extension of `rejects` stands for another format */
function requireMatchingExtension(rejects: string, format: FileFormat): void {
  const named = formatOf(rejects) ?? format;
  if (named !== format)
    throw new UsageError(
      `--rejects ${rejects}: rejected rows keep the format of the import, so use a name that ends in .${format}`,
    );
}

/** @throws UsageError if `file`, which --`option` names, can't be written, or is one of the other files */
function requireDistinctFile(option: string, file: string, others: readonly string[]): void {
  if (file === "") throw new UsageError(`--${option} has an empty file name`);
  if (isStandardOutput(file)) throw new UsageError(`--${option} needs a file, because standard output has the summary`);
  const to = statSync(file, { throwIfNoEntry: false });
  if (to?.isDirectory()) throw new UsageError(`--${option} ${file} is a folder; give a file name`);
  for (const other of others) {
    const from = statSync(other, { throwIfNoEntry: false });
    if (other === file || (to?.isFile() && to.ino === from?.ino && to.dev === from.dev))
      throw new UsageError(`--${option} would overwrite ${other}; use another file`);
  }
}

function parseRow(text: string): number {
  if (/^[1-9][0-9]{0,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Use a row number, such as 3, or --no-header if no row names the columns.");
}

function parseDelimiter(text: string): string {
  const delimiter = ["tab", "\\t"].includes(text) ? "\t" : text;
  if (isDelimiter(delimiter)) return delimiter;
  throw new InvalidArgumentError("Use a single character, such as ; or |, or the word tab.");
}

function parseEncoding(name: string): string {
  const hint = encodingHint(name);
  if (hint === undefined) return name;
  throw new InvalidArgumentError(hint);
}
