// A tool, and what a call of it needs.

import type { AuthorizedView, RequestContext } from "../request-context.ts";
import type { ToolDefinition } from "./tool-schemas.ts";

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
