// Finds the route of a path. A pattern such as `/operator/sites/{site}` has a name in braces for each segment that the client chooses.

interface Found<Route> {
  readonly route: Route;
  /** The segments that the client chose, decoded, by their names in the pattern. */
  readonly parameters: Readonly<Record<string, string>>;
}

export class Router<Route> {
  readonly #routes: readonly { readonly matcher: RegExp; readonly route: Route }[];

  /** @param routes by pattern. If a path matches two patterns, compare their segments from the left: the first fixed segment wins */
  constructor(routes: ReadonlyMap<string, Route>) {
    // A brace sorts after every character of a fixed segment.
    const unnamed = (pattern: string) => pattern.replaceAll(/\{\w+\}/g, "{");
    const sorted = [...routes].sort(([one], [other]) => (unnamed(one) < unnamed(other) ? -1 : 1));
    this.#routes = sorted.map(([pattern, route]) => {
      const text = pattern.replaceAll(".", "\\.").replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)");
      return { matcher: new RegExp(`^${text}$`), route };
    });
  }

  /** Returns the route of `path`; undefined if no pattern matches, or if a segment is empty or not valid percent-encoded UTF-8. */
  find(path: string): Found<Route> | undefined {
    for (const { matcher, route } of this.#routes) {
      const match = matcher.exec(path);
      if (match) return decode(match.groups ?? {}, route);
    }
    return undefined;
  }
}

function decode<Route>(sent: Readonly<Record<string, string>>, route: Route): Found<Route> | undefined {
  try {
    const parameters = Object.entries(sent).map(([name, segment]) => [name, decodeURIComponent(segment)]);
    return { route, parameters: Object.fromEntries(parameters) };
  } catch {
    return undefined;
  }
}
