// All tools: which of them a key may call, and what an agent gets from a call.

import { ProblemError } from "../../model/errors.ts";
import type { AuthorizedView, RequestContext } from "../request-context.ts";
import { toProblemDocument } from "../responses.ts";
import { isObject, type Members, RpcError } from "./protocol.ts";
import type { Tool, ToolResult } from "./tool.ts";
import { checkArguments } from "./tool-arguments.ts";
import { encodeDefinitions } from "./tool-schemas.ts";

/** The errors of a call that an agent cannot correct by another call: the request as a whole gets them, with their status. */
const errorsOfRequest: ReadonlySet<string> = new Set([
  "unauthorized",
  "site-suspended",
  "wrong-site",
  "too-many-requests",
  "unavailable",
  "internal",
]);

/** The tools that keys of one scope may call. */
export class Tools {
  /** The definitions, as a JSON list. */
  readonly definitions: string;
  readonly #tools: ReadonlyMap<unknown, Tool>;

  constructor(tools: readonly Tool[]) {
    this.#tools = new Map(tools.map((tool) => [tool.definition.name, tool]));
    this.definitions = encodeDefinitions(tools.map(({ definition }) => definition));
  }

  /**
   * Calls a tool. Returns a JSON object with the result as text and as data, or with the error that the agent can correct.
   * @param params of the message: the name of the tool, and its arguments
   * @throws RpcError for an unknown tool; ProblemError for an error of the request as a whole
   */
  async call(params: Members, context: RequestContext, authorized: AuthorizedView): Promise<string> {
    const { name, arguments: sent = {} } = params;
    const tool = this.#tools.get(name);
    if (!tool) {
      const names = [...this.#tools.keys()].join(", ");
      throw new RpcError(
        "invalidParams",
        `this API key has no tool \`${String(name).slice(0, 100)}\`; it has ${names}`,
        {
          status: 200,
        },
      );
    }
    if (!isObject(sent)) throw new RpcError("invalidParams", "`arguments` must be an object", { status: 200 });
    try {
      checkArguments(tool.definition, sent);
      return encodeResult(await tool.call({ context, authorized, sent }));
    } catch (error) {
      if (!(error instanceof ProblemError) || errorsOfRequest.has(error.code) || context.keyRejection) throw error;
      return encodeResult({ json: JSON.stringify(toProblemDocument(context, error)), isError: true });
    }
  }
}

function encodeResult({ json, isError = false }: ToolResult): string {
  const text = JSON.stringify(json);
  return `{"content":[{"type":"text","text":${text}}],"structuredContent":${json},"isError":${isError}}`;
}
