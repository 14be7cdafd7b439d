// Recognizes files that look like a workbook, and those that people try to import instead of one. Each gets a sentence that says what to do.

import { ProblemError } from "../../model/errors.ts";
import { decodeStart } from "../text-encoding.ts";
import { type ByteSource, damagedError } from "./workbook-limits.ts";

const saveAsWorkbook = "open it in Excel or LibreOffice, and save it as an Excel workbook (.xlsx)";
const oldWorkbook = `this is an old Excel workbook (.xls); ${saveAsWorkbook}`;

/** How many bytes `recognizeFile` needs; fewer if the file ends before. */
export const recognizedBytes = 4096;

/** The first bytes of files that nobody can import, in hexadecimal. */
const signatures: readonly (readonly [start: RegExp, fault: string])[] = [
  [/^(?:1f8b|425a68|fd377a585a|28b52ffd)/, "this file is compressed; unpack it, and import the file in it"],
  [/^(?:377abcaf|52617221)/, "this is an archive; unpack it, and import the file in it"],
  [/^25504446/, "this is a PDF; export the table as .xlsx or CSV from the program that made it"],
  [/^09(?:00|02|04|08)(?:04|06|08|10)00/, oldWorkbook],
];

/** The start of texts that nobody can import, without white space before it. */
const textSignatures: readonly (readonly [start: RegExp, fault: string])[] = [
  [
    /^<.*\sxmlns(?::\w+)?="urn:schemas-microsoft-com:office:spreadsheet"/s,
    `this is an Excel 2003 XML file; ${saveAsWorkbook}`,
  ],
  [
    /^(?:<[?!][^>]*>\s*)*<(?:!doctype\s+html|html|head|body|meta|style|table)\b|^MIME-Version:/i,
    `this is a web page, even if its name ends with .xls; ${saveAsWorkbook}`,
  ],
];

/**
 * Tells workbooks from text, such as CSV, JSON and XML. Files that only look like a workbook are rejected by `openWorkbook`.
 * @param start the first `recognizedBytes` of the file
 * @throws ProblemError `bad-request` if nobody can import such a file
 */
export function recognizeFile(start: Uint8Array): "workbook" | "text" {
  const bytes = start.subarray(0, 16).toHex();
  if (/^504b(?:0304|0506|0708)/.test(bytes) || isCompoundFile(start)) return "workbook";
  const text = decodeStart(start).trimStart();
  const [, fault] =
    signatures.find(([pattern]) => pattern.test(bytes)) ?? textSignatures.find(([pattern]) => pattern.test(text)) ?? [];
  if (fault !== undefined) throw new ProblemError("bad-request", fault);
  return "text";
}

/** The format before 2007. Workbooks with a password are wrapped into it, too. */
function isCompoundFile(start: Uint8Array): boolean {
  return start.subarray(0, 4).toHex() === "d0cf11e0";
}

/** @throws ProblemError `bad-request` if the file isn't a ZIP archive */
export async function requireArchive(source: ByteSource): Promise<void> {
  const start = await source.read(0, recognizedBytes);
  if (recognizeFile(start) === "text")
    throw new ProblemError("bad-request", `this isn't a workbook; ${saveAsWorkbook}`);
  if (!isCompoundFile(start)) return;
  throw (await contains(source, Buffer.from("EncryptedPackage", "utf16le")))
    ? passwordError()
    : new ProblemError("bad-request", oldWorkbook);
}

async function contains(source: ByteSource, searched: Buffer): Promise<boolean> {
  const step = 1 << 20;
  for (let start = 0; start < source.size; start += step) {
    const bytes = await source.read(start, step + searched.length);
    if (Buffer.from(bytes).includes(searched)) return true;
  }
  return false;
}

export function passwordError(): ProblemError {
  return new ProblemError(
    "bad-request",
    "this workbook has a password; remove it in Excel (File > Info > Protect Workbook > Encrypt with Password), and save it",
  );
}

/**
 * Returns the error of an archive that isn't a workbook.
 * @param paths all paths in the archive, in lower case
 * @param main the path of the main part, if there is one
 */
export function findOtherKind(paths: readonly string[], main = ""): ProblemError | undefined {
  const has = (pattern: RegExp) => paths.some((path) => pattern.test(path));
  const toError = (kind: string, advice = saveAsWorkbook) =>
    new ProblemError("bad-request", `this is ${kind}; ${advice}`);
  if (main.endsWith(".bin")) return toError("an Excel binary workbook (.xlsb)");
  if (/^word\//i.test(main)) return toError("a Word document", "copy its table into Excel, and save that as .xlsx");
  if (main !== "") return undefined;
  if (has(/^meta-inf\/manifest\.xml$/) && has(/^content\.xml$/)) return toError("an OpenDocument file, such as .ods");
  if (has(/\.iwa$|^index\.zip$/))
    return toError("an Apple Numbers file", "choose File > Export To > Excel in Numbers, and import the exported file");
  if (has(/^\[content_types\]\.xml$|^xl\//)) return damagedError("its list of parts is missing");
  return toError("a ZIP archive", "unpack it, and import the file in it");
}
