// The script of the console, in each encoding that a browser may ask for.

import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants, gzip } from "node:zlib";
import { once } from "../lib/once.ts";
import { buildConsole, consoleEntry } from "./console-build.ts";

export interface ConsoleScript {
  /** Another one for another script. */
  readonly digest: string;
  readonly plain: () => Promise<Uint8Array>;
  readonly gzip: () => Promise<Uint8Array>;
  readonly brotli: () => Promise<Uint8Array>;
  /** The licences of the packages in it. */
  readonly notices: string;
}

/**
 * A checkout makes the script from its source, of which a package and the executable have nothing: they contain the script itself.
 * @throws AggregateError with what is wrong in the source of a checkout, or Error about the licence of a package
 */
export function loadScript(): Promise<ConsoleScript> {
  return existsSync(consoleEntry) ? madeScript() : containedScript();
}

/** The best compression takes seconds, which the first page cannot wait for. */
const quickly = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } };

async function madeScript(): Promise<ConsoleScript> {
  const { script, notices } = await buildConsole();
  const bytes = Buffer.from(script);
  return createConsoleScript(
    bytes,
    async () => bytes,
    once(() => promisify(brotliCompress)(bytes, quickly)),
    notices,
  );
}

async function containedScript(): Promise<ConsoleScript> {
  const { default: file } = await import("../../dist/console/console.js.br", { with: { type: "file" } });
  const { default: notices } = await import("../../dist/console/console.js.LICENSE.txt", { with: { type: "text" } });
  const bytes = await Bun.file(file).bytes();
  return createConsoleScript(
    bytes,
    once(() => promisify(brotliDecompress)(bytes)),
    async () => bytes,
    notices,
  );
}

function createConsoleScript(
  bytes: Uint8Array<ArrayBuffer>,
  plain: ConsoleScript["plain"],
  brotli: ConsoleScript["brotli"],
  notices: string,
): ConsoleScript {
  return {
    digest: Bun.SHA256.hash(bytes, "hex").slice(0, 16),
    plain,
    gzip: once(async () => promisify(gzip)(await plain(), { level: 9 })),
    brotli,
    notices,
  };
}
