// The read-only tools. They use the endpoints of lists, records and the feed, so parameters, limits and errors are the same.

import { changesRight, type KeyRights, readRight } from "../../model/key-rights.ts";
import { basePath, publicResources, type Resource } from "../../model/resource.ts";
import type { RouteMatch } from "../request-context.ts";
import { read } from "./read-request.ts";
import { changesTool, defaultToolPage, getTool, listTool } from "./tool-schemas.ts";
import type { Tool, ToolCall } from "./tools.ts";

interface ReadToolDependencies {
  readonly resources: readonly Resource[];
  /** Returns the route of a request target. */
  find(target: string): RouteMatch;
}

/** Returns the tools that a key with these rights can use, for the resources it can read. */
export function createReadTools({ resources: all, find }: ReadToolDependencies, rights: KeyRights): readonly Tool[] {
  const resources = publicResources(all).filter((resource) => rights.allows(readRight(resource)));
  if (resources.length === 0) return [];
  const get = (call: ToolCall, path: string, query = "") =>
    read(call.context, call.authorized, find(`${basePath}${path}.json${query}`));
  const changes: Tool = {
    definition: changesTool(resources),
    call: async (call) => ({ json: (await get(call, "changes", toFeedQuery(call.sent))).body }),
  };
  return [
    {
      definition: listTool(resources),
      async call(call) {
        const { body, header } = await get(call, String(call.sent.resource), toListQuery(call.sent));
        return { json: `{"Records":${body},"Total":${header("X-Total-Count")}}` };
      },
    },
    {
      definition: getTool(resources),
      async call(call) {
        const { body, header } = await get(call, `${call.sent.resource}/${call.sent.id}`);
        return { json: `{"Record":${body},"ETag":${JSON.stringify(header("ETag"))}}` };
      },
    },
    ...(rights.allows(changesRight) ? [changes] : []),
  ];
}

/** The arguments match the schema. A filter may also be named as in a query, `filter[Name][contains]`, because that's how the list's errors name it. */
function toListQuery({ limit = defaultToolPage, offset, sort, filter = {}, fields }: ToolCall["sent"]): string {
  const filters = Object.entries(filter as Record<string, string>).map(([name, value]): [string, string] => {
    if (name.startsWith("filter[")) return [name, value];
    const [, path = name, operator = ""] = /^([^[]*)(\[.*)?$/s.exec(name) ?? [];
    return [`filter[${path}]${operator}`, value];
  });
  return toQuery({ limit, offset, sort, fields }, filters);
}

function toFeedQuery({ limit = defaultToolPage, since, resource, collapse }: ToolCall["sent"]): string {
  return toQuery({ limit, since, resource, collapse: collapse === true ? 1 : undefined });
}

/** Leaves out undefined parameters, and separates lists with commas. */
function toQuery(parameters: Readonly<Record<string, unknown>>, others: readonly [string, string][] = []): string {
  const sent = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return `?${new URLSearchParams([...sent.map(([name, value]): [string, string] => [name, String(value)]), ...others])}`;
}
