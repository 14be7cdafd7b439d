// Options of `import` and `export` for CSV files from other programs.

import { statSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import { isDelimiter } from "../../formats/csv.ts";
import { type CsvMapping, parseMapping } from "../../formats/csv-mapping.ts";
import { toFileError } from "../../formats/syntax-errors.ts";
import { decodeText, encodingHint } from "../../formats/text-encoding.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Resource } from "../../model/resource.ts";
import { isStandardInput, isStandardOutput } from "../../operator/files/standard-streams.ts";
import { type CsvOptions, type FileFormat, fileFormats, formatOf } from "../../operator/import/file-rows.ts";
import { openInput } from "./input-file.ts";
import { UsageError } from "./usage-error.ts";

/** As typed. */
export interface CsvFlags {
  readonly delimiter?: string;
  readonly encoding?: string;
  readonly map?: string;
  readonly rejects?: string;
}

export function formatOption(): Option {
  return new Option("--format <format>", "file format (default: by file extension, else csv)").choices(fileFormats);
}

/** @param byDefault what the help says about leaving it out */
export function withDelimiterOption(command: Command, byDefault: string): Command {
  return command.option(
    "--delimiter <character>",
    `character that separates the cells of a CSV file, such as ; or tab (${byDefault})`,
    parseDelimiter,
  );
}

export function withCsvOptions(command: Command): Command {
  return withDelimiterOption(command, "default: detected from the header")
    .option(
      "--encoding <name>",
      "encoding of a CSV file, such as windows-1252 (default: a detected Unicode encoding, else utf-8)",
      parseEncoding,
    )
    .option("--map <file>", "JSON file that maps CSV columns to fields (default: columns are named after fields)")
    .option("--rejects <file>", "save rejected rows here, so you can fix and re-import them");
}

/**
 * Checks the options for `file`, and reads the mapping.
 * @throws UsageError if an option doesn't apply to the format, or the file of `--rejects` is unusable
 * @throws ProblemError if the mapping can't be read or is invalid
 */
export async function readCsvFlags(
  resource: Resource,
  file: string,
  format: FileFormat,
  flags: CsvFlags,
): Promise<CsvOptions> {
  const { delimiter, encoding, map, rejects } = flags;
  requireCsv(format, { delimiter, encoding, map });
  if (rejects !== undefined) {
    requireDistinctFile(rejects, [file, ...(map === undefined ? [] : [map])]);
    requireMatchingExtension(rejects, format);
  }
  return { delimiter, encoding, mapping: map === undefined ? undefined : await readMappingFile(resource, map, file) };
}

/** @throws UsageError if one of `options` was given for a format other than CSV */
export function requireCsv(format: FileFormat, options: Readonly<Record<string, unknown>>): void {
  const given = Object.keys(options).find((name) => options[name] !== undefined);
  if (format !== "csv" && given)
    throw new UsageError(`--${given} only works with CSV files, and this one is ${format}`);
}

/** In bytes. */
const maxMappingSize = 1 << 20;

async function readMappingFile(resource: Resource, map: string, file: string): Promise<CsvMapping> {
  if (isStandardInput(map) && isStandardInput(file))
    throw new UsageError("--map and the rows can't both be standard input; use a file for one of them");
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

/** @throws UsageError if `rejects` can't be written, or is one of the files that the import reads */
function requireDistinctFile(rejects: string, inputs: readonly string[]): void {
  if (rejects === "") throw new UsageError("--rejects has an empty file name");
  if (isStandardOutput(rejects))
    throw new UsageError("--rejects needs a file, because standard output has the summary");
  const to = statSync(rejects, { throwIfNoEntry: false });
  if (to?.isDirectory()) throw new UsageError(`--rejects ${rejects} is a folder; give a file name`);
  for (const input of inputs) {
    const from = statSync(input, { throwIfNoEntry: false });
    if (to?.isFile() && to.ino === from?.ino && to.dev === from.dev)
      throw new UsageError(`--rejects would overwrite the input ${input}; use another file`);
  }
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
