// Reads the query of a request under /restapi (contract section 6). Each endpoint has the parameters of `parametersOf`, and any other one is rejected:
// if the server ignored it, a client would get all records instead of some, or a misspelt dry run would store.

import { ProblemError } from "../model/errors.ts";
import { filterName, parametersOf } from "../model/parameters.ts";
import { type QueryOwner, unknownParameterDetail } from "./parameter-advice.ts";

export interface QueryOptions {
  /** The names of parameters that the operator has told the server to ignore. */
  readonly ignoredParameters: readonly string[];
}

/** The names that libraries give to a parameter that changes with each request, so that no cache responds. */
const cacheBusters = ["_", "v", "t", "ts", "cb", "nocache", "cachebuster", "rand"];

export class QueryReader {
  readonly #ignored: ReadonlySet<string>;

  constructor({ ignoredParameters }: QueryOptions) {
    this.#ignored = new Set([...cacheBusters, ...ignoredParameters]);
  }

  /**
   * Returns the parameters of a query, ignored ones included.
   * @throws ProblemError `bad-request` for a query that isn't percent-encoded UTF-8, or has a parameter that the endpoint doesn't have
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
 * Requires percent-encoded UTF-8. `URLSearchParams` replaces what isn't, so a client that looks a record up before it creates one would never find it.
 * @param query ASCII, as `toTarget` returns it
 * @throws ProblemError `bad-request`, which names the parameter and what is wrong in it
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
  // One or two bytes are probably letters of an older encoding between ASCII letters; more can be anything.
  const text =
    bytes.length > 6 ? "" : new TextDecoder("windows-1252").decode(Buffer.from(bytes.replaceAll("%", ""), "hex"));
  const instead = text === "" ? example : `if that is \`${text}\`, send \`${encodeURIComponent(text)}\``;
  return `\`${bytes.slice(0, 36)}\` isn't UTF-8; ${instead}`;
}

const example = "send UTF-8, such as `%C3%A9` for `é`";
