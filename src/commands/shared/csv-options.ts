// The options of `import` and `export` for CSV files of other programs.

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

/** The options for CSV files, as the operator typed them. */
export interface CsvFlags {
  readonly delimiter?: string;
  readonly encoding?: string;
  readonly map?: string;
  readonly rejects?: string;
}

/** Creates the option `--format`. */
export function formatOption(): Option {
  return new Option("--format <format>", "format of the file (default: by its extension, else csv)").choices(
    fileFormats,
  );
}

/** Adds the option `--delimiter`. @param byDefault what happens without it */
export function withDelimiterOption(command: Command, byDefault: string): Command {
  return command.option(
    "--delimiter <character>",
    `character between the cells of a CSV file, such as ; or tab (${byDefault})`,
    parseDelimiter,
  );
}

/** Adds the options for CSV files. */
export function withCsvOptions(command: Command): Command {
  return withDelimiterOption(command, "default: detected in its header")
    .option(
      "--encoding <name>",
      "encoding of a CSV file, such as windows-1252 (default: detected if it is Unicode, else utf-8)",
      parseEncoding,
    )
    .option(
      "--map <file>",
      "JSON file: which column of a CSV file becomes which field (default: columns are named as fields)",
    )
    .option("--rejects <file>", "write the rejected rows to this file, to correct and to import again");
}

/**
 * Checks the options for `file`, and reads the mapping of `--map`.
 * @throws UsageError for an option that does not apply to the format, or if the file of `--rejects` cannot be used
 * @throws ProblemError if the mapping cannot be read or is invalid
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
    requireOther(rejects, [file, ...(map === undefined ? [] : [map])]);
    requireFormat(rejects, format);
  }
  return { delimiter, encoding, mapping: map === undefined ? undefined : await readMappingFile(resource, map, file) };
}

/** @throws UsageError if one of `options` was given for another format than CSV */
export function requireCsv(format: FileFormat, options: Readonly<Record<string, unknown>>): void {
  const given = Object.keys(options).find((name) => options[name] !== undefined);
  if (format !== "csv" && given) throw new UsageError(`--${given} is for CSV files, and this one is ${format}`);
}

/** Maximum size of a mapping file, in bytes. */
const maxMappingSize = 1 << 20;

async function readMappingFile(resource: Resource, map: string, file: string): Promise<CsvMapping> {
  if (isStandardInput(map) && isStandardInput(file))
    throw new UsageError("--map and the rows cannot both be standard input");
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of openInput(map)) {
    size += chunk.length;
    if (size > maxMappingSize) throw new ProblemError("too-large", `${map} is larger than 1 MiB; is it a mapping?`);
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

/** Requires that the extension of the file `rejects`, if it has one, matches `format`. @throws UsageError otherwise */
function requireFormat(rejects: string, format: FileFormat): void {
  const named = formatOf(rejects) ?? format;
  if (named !== format)
    throw new UsageError(
      `--rejects ${rejects}: rejected rows are written as they were read, and this file is ${format}`,
    );
}

/** Requires that `rejects` can be written, and differs from the files `inputs`, which the import reads. @throws UsageError otherwise */
function requireOther(rejects: string, inputs: readonly string[]): void {
  if (rejects === "") throw new UsageError("the file name of --rejects is empty");
  if (isStandardOutput(rejects)) throw new UsageError("--rejects needs a file: the summary is on standard output");
  const to = statSync(rejects, { throwIfNoEntry: false });
  if (to?.isDirectory()) throw new UsageError(`--rejects ${rejects} is a folder`);
  for (const input of inputs) {
    const from = statSync(input, { throwIfNoEntry: false });
    if (to?.isFile() && to.ino === from?.ino && to.dev === from.dev)
      throw new UsageError(`--rejects would overwrite ${input}, which is read; name another file`);
  }
}

function parseDelimiter(text: string): string {
  const delimiter = ["tab", "\\t"].includes(text) ? "\t" : text;
  if (isDelimiter(delimiter)) return delimiter;
  throw new InvalidArgumentError("It must be one character, such as ; or |, or the word tab.");
}

function parseEncoding(name: string): string {
  const hint = encodingHint(name);
  if (hint === undefined) return name;
  throw new InvalidArgumentError(hint);
}
