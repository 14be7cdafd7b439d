// Finds the route for a path. Patterns such as `/operator/sites/{site}` have names in braces for segments that can be anything.

interface Found<Route> {
  readonly route: Route;
  /** Decoded segments by their names in the pattern. */
  readonly parameters: Readonly<Record<string, string>>;
}

export class Router<Route> {
  readonly #routes: readonly { readonly matcher: RegExp; readonly route: Route }[];

  /** @param routes by pattern. If a path matches several, the one with the leftmost fixed segment wins */
  constructor(routes: ReadonlyMap<string, Route>) {
    // Braces sort after everything that fixed segments contain.
    const unnamed = (pattern: string) => pattern.replaceAll(/\{\w+\}/g, "{");
    const sorted = [...routes].sort(([one], [other]) => (unnamed(one) < unnamed(other) ? -1 : 1));
    this.#routes = sorted.map(([pattern, route]) => {
      const text = pattern.replaceAll(".", "\\.").replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)");
      return { matcher: new RegExp(`^${text}$`), route };
    });
  }

  /** Undefined if no pattern matches, or a segment is empty or isn't valid percent-encoded UTF-8. */
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
