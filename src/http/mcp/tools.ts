// What a tool is, which tools a key may call, and what result the agent gets.

import { createYielder } from "../../lib/yielding.ts";
import { ProblemError } from "../../model/errors.ts";
import { describeNonObject, isJsonObject } from "../../model/field.ts";
import { type RequestAuthorizer, requireSameSite } from "../authorization/authorizer.ts";
import type { AuthorizedView, RequestContext } from "../request-context.ts";
import { toProblemDocument } from "../responses.ts";
import { type Members, RpcError } from "./protocol.ts";
import { checkArguments, withoutNulls } from "./tool-arguments.ts";
import { encodeDefinitions, type ToolDefinition } from "./tool-schemas.ts";

export interface ToolCall {
  readonly context: RequestContext;
  readonly authorized: AuthorizedView;
  /** Checked against the tool's schema. */
  readonly sent: Readonly<Record<string, unknown>>;
}

export interface ToolResult {
  /** A JSON object. */
  readonly json: string;
  /** Whether the agent has to do something before it can go on. */
  readonly isError?: boolean;
  /** A stored result is sent even if the key was revoked in the meantime. */
  readonly isStored?: boolean;
}

export interface Tool {
  readonly definition: ToolDefinition;
  /** @throws ProblemError, which the agent gets, unless it's about the request as a whole */
  call(call: ToolCall): Promise<ToolResult>;
}

/** Errors that the agent can't fix with another call. The request as a whole gets them, with their status. */
const errorsOfRequest: ReadonlySet<string> = new Set([
  "unauthorized",
  "site-suspended",
  "wrong-site",
  "too-many-requests",
  "unavailable",
  "internal",
]);

/** The tools that keys with the same rights may call. */
export class Tools {
  /** As a JSON list. */
  readonly definitions: string;
  readonly #tools: ReadonlyMap<unknown, Tool>;
  readonly #authorizer: RequestAuthorizer;

  constructor(tools: readonly Tool[], authorizer: RequestAuthorizer) {
    this.#authorizer = authorizer;
    this.#tools = new Map(tools.map((tool) => [tool.definition.name, tool]));
    this.definitions = encodeDefinitions(tools.map(({ definition }) => definition));
  }

  /**
   * Returns a JSON object with the result as text and as data, or with an error that the agent can fix.
   * @param params the message's: the tool's name and its arguments
   * @throws RpcError for an unknown tool; ProblemError for an error of the request as a whole
   */
  async call(params: Members, context: RequestContext, authorized: AuthorizedView): Promise<string> {
    const { name } = params;
    const given = params.arguments ?? {};
    const tool = this.#tools.get(name);
    if (!tool) {
      const names = [...this.#tools.keys()].join(", ") || "none";
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
      if (!(error instanceof ProblemError) || errorsOfRequest.has(error.code)) throw error;
      // A call that needs other rights may work.
      if (context.keyRejection !== undefined && context.keyRejection !== "without the right") throw error;
      return encodeResult({ json: JSON.stringify(toProblemDocument(context, error)), isError: true });
    }
  }

  /** If encoding has to yield, authorizes the request again, because its key may have been revoked in the meantime. */
  async #encode(context: RequestContext, { siteView }: AuthorizedView, result: ToolResult): Promise<string> {
    const encoded = await encodeResult(result);
    if (result.json.length > stepLength && !result.isStored)
      await this.#authorizer.reauthorize(context, (again) => requireSameSite(again, siteView.siteId));
    return encoded;
  }
}

/** UTF-16 units to escape per step. */
const stepLength = 1 << 18;

/** Encodes a result as text and as data. Yields to the event loop between steps. */
async function encodeResult({ json, isError = false }: ToolResult): Promise<string> {
  const yieldIfDue = createYielder();
  let text = "";
  for (let start = 0; start < json.length; start += stepLength) {
    if (start > 0) await yieldIfDue();
    text += JSON.stringify(json.slice(start, start + stepLength)).slice(1, -1);
  }
  return `{"content":[{"type":"text","text":"${text}"}],"structuredContent":${json},"isError":${isError}}`;
}
