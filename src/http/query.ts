// Reads the query of a request under /restapi (contract section 6). Each endpoint has the parameters in `parametersOf`, and rejects any other one. If we
// ignored it, a client would get all records instead of some, or a misspelt dry run would store something.

import { ProblemError } from "../model/errors.ts";
import { filterName, parametersOf } from "../model/parameters.ts";
import { type QueryOwner, unknownParameterDetail } from "./parameter-advice.ts";

export interface QueryOptions {
  /** Parameters the operator told the server to ignore. */
  readonly ignoredParameters: readonly string[];
}

/** What libraries call a parameter that changes with each request to bypass caches. */
const cacheBusters = ["_", "v", "t", "ts", "cb", "nocache", "cachebuster", "rand"];

export class QueryReader {
  readonly #ignored: ReadonlySet<string>;

  constructor({ ignoredParameters }: QueryOptions) {
    this.#ignored = new Set([...cacheBusters, ...ignoredParameters]);
  }

  /**
   * Returns all parameters, including ignored ones.
   * @throws ProblemError `bad-request` for a query that isn't percent-encoded UTF-8, or has a parameter the endpoint doesn't have
   */
  read(query: string, owner: QueryOwner): URLSearchParams {
    requireUtf8(query);
    const parameters = new URLSearchParams(query);
    for (const [name, value] of parameters)
      if (!isKnown(name, owner) && !this.#ignored.has(name) && !name.startsWith("utm_"))
        throw new ProblemError("bad-request", unknownParameterDetail({ name, value, owner }));
    return parameters;
  }
}

function isKnown(name: string, { kind }: QueryOwner): boolean {
  if (kind === "list" && name.startsWith("filter")) return filterName.test(name);
  return (parametersOf[kind] as readonly string[]).includes(name);
}

/**
 * `URLSearchParams` replaces what isn't UTF-8, so a client that looks for a record before creating one would never find it.
 * @param query ASCII, as `toTarget` returns it
 * @throws ProblemError `bad-request` unless it's percent-encoded UTF-8
 */
function requireUtf8(query: string): void {
  if (!query.includes("%") || isUtf8(query)) return;
  const part = query.split("&").find((one) => !isUtf8(one)) ?? query;
  const mark = part.indexOf("=");
  const name = mark === -1 || !isUtf8(part.slice(0, mark)) ? part : part.slice(0, mark);
  const shown = name.length > 60 ? `${name.slice(0, 60)}...` : name;
  throw new ProblemError("bad-request", `the query isn't percent-encoded UTF-8: in \`${shown}\`, ${faultIn(part)}`);
}

function isUtf8(text: string): boolean {
  return decoded(text) !== undefined;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function faultIn(part: string): string {
  const [escaped] = /(?:%u[0-9a-f]{4}){1,2}/i.exec(part) ?? [];
  if (escaped !== undefined) {
    const text = escaped.replaceAll(/%u(.{4})/gi, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)));
    const instead = text.isWellFormed() ? `send \`${encodeURIComponent(text)}\` for \`${text}\`` : example;
    return `\`${escaped}\` isn't percent-encoding; ${instead}`;
  }
  if (/%(?![0-9a-f]{2})/i.test(part)) return "a `%` isn't followed by two hexadecimal digits; write `%25` for a `%`";
  const bytes = part.match(/(?:%[0-9a-f]{2})+/gi)?.find((run) => !isUtf8(run)) ?? "";
  if (/%ED%[AB]/i.test(bytes)) return `\`${bytes.slice(0, 36)}\` has surrogates; send each character as its own UTF-8`;
  // One or two bytes are probably letters in an older encoding. More could be anything.
  const text =
    bytes.length > 6 ? "" : new TextDecoder("windows-1252").decode(Buffer.from(bytes.replaceAll("%", ""), "hex"));
  const instead = text === "" ? example : `if that is \`${text}\`, send \`${encodeURIComponent(text)}\``;
  return `\`${bytes.slice(0, 36)}\` isn't UTF-8; ${instead}`;
}

const example = "send UTF-8, such as `%C3%A9` for `é`";
