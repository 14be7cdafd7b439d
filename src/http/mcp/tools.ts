// Tools: a tool and its calls, which tools a key may call, and the result that an agent gets.

import { createYielder } from "../../lib/yielding.ts";
import { ProblemError } from "../../model/errors.ts";
import { describeNonObject, isJsonObject } from "../../model/field.ts";
import { type RequestAuthorizer, requireSameSite } from "../authorization/authorizer.ts";
import type { AuthorizedView, RequestContext } from "../request-context.ts";
import { toProblemDocument } from "../responses.ts";
import { type Members, RpcError } from "./protocol.ts";
import { checkArguments, withoutNulls } from "./tool-arguments.ts";
import { encodeDefinitions, type ToolDefinition } from "./tool-schemas.ts";

/** A call of a tool by an authorized request. */
export interface ToolCall {
  readonly context: RequestContext;
  readonly authorized: AuthorizedView;
  /** Checked against the schema of the tool. */
  readonly sent: Readonly<Record<string, unknown>>;
}

/** The result of a call: what it returns to the agent, as JSON. */
export interface ToolResult {
  /** A JSON object. */
  readonly json: string;
  /** Whether the agent should do something else than go on. */
  readonly isError?: boolean;
  /** Whether it was stored. A stored result is sent even if the key was revoked meanwhile. */
  readonly isStored?: boolean;
}

export interface Tool {
  readonly definition: ToolDefinition;
  /** Calls the tool. @throws ProblemError, which the agent gets unless it is about the request as a whole */
  call(call: ToolCall): Promise<ToolResult>;
}

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
  readonly #authorizer: RequestAuthorizer;

  constructor(tools: readonly Tool[], authorizer: RequestAuthorizer) {
    this.#authorizer = authorizer;
    this.#tools = new Map(tools.map((tool) => [tool.definition.name, tool]));
    this.definitions = encodeDefinitions(tools.map(({ definition }) => definition));
  }

  /**
   * Calls a tool. Returns a JSON object with the result as text and as data, or with the error that the agent can correct.
   * @param params of the message: the name of the tool, and its arguments
   * @throws RpcError for an unknown tool; ProblemError for an error of the request as a whole
   */
  async call(params: Members, context: RequestContext, authorized: AuthorizedView): Promise<string> {
    const { name } = params;
    const given = params.arguments ?? {};
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
    if (!isJsonObject(given)) {
      const detail = `\`arguments\` must be an object, not ${describeNonObject(given)}`;
      throw new RpcError("invalidParams", detail, { status: 200 });
    }
    try {
      const sent = withoutNulls(given);
      checkArguments(tool.definition, sent);
      return await this.#encode(context, authorized, await tool.call({ context, authorized, sent }));
    } catch (error) {
      if (!(error instanceof ProblemError) || errorsOfRequest.has(error.code) || context.keyRejection) throw error;
      return encodeResult({ json: JSON.stringify(toProblemDocument(context, error)), isError: true });
    }
  }

  /** Encodes a result. If that has to yield, authorizes the request again, because its key may have been revoked meanwhile. */
  async #encode(context: RequestContext, { siteView }: AuthorizedView, result: ToolResult): Promise<string> {
    const encoded = await encodeResult(result);
    if (result.json.length > stepLength && !result.isStored)
      await this.#authorizer.reauthorize(context, (again) => requireSameSite(again, siteView.siteId));
    return encoded;
  }
}

/** UTF-16 units that are escaped in one step. */
const stepLength = 1 << 18;

/** Returns a result as text and as data. Yields to the event loop between steps. */
async function encodeResult({ json, isError = false }: ToolResult): Promise<string> {
  const yieldIfDue = createYielder();
  let text = "";
  for (let start = 0; start < json.length; start += stepLength) {
    if (start > 0) await yieldIfDue();
    text += JSON.stringify(json.slice(start, start + stepLength)).slice(1, -1);
  }
  return `{"content":[{"type":"text","text":"${text}"}],"structuredContent":${json},"isError":${isError}}`;
}
