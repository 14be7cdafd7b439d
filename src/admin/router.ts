// Finds the route of a path. A pattern such as `/operator/sites/{site}` has a name in braces for each segment that the client chooses.

interface Found<Route> {
  readonly route: Route;
  /** The segments that the client chose, decoded, by their names in the pattern. */
  readonly parameters: Readonly<Record<string, string>>;
}

export class Router<Route> {
  /** The patterns and their routes. The key of the map is the number of segments. */
  readonly #patterns = new Map<number, { readonly segments: readonly string[]; readonly route: Route }[]>();

  /** @param routes by pattern. If a path matches two patterns, compare their segments from the left: the first fixed segment wins */
  constructor(routes: ReadonlyMap<string, Route>) {
    for (const [pattern, route] of routes) {
      const segments = pattern.split("/");
      const alike = this.#patterns.get(segments.length) ?? [];
      alike.push({ segments, route });
      this.#patterns.set(segments.length, alike);
    }
    for (const alike of this.#patterns.values()) alike.sort((one, other) => compare(one.segments, other.segments));
  }

  /** Returns the route of `path`; undefined if no pattern matches, or if a segment is empty or not valid percent-encoded UTF-8. */
  find(path: string): Found<Route> | undefined {
    const sent = path.split("/");
    for (const { segments, route } of this.#patterns.get(sent.length) ?? []) {
      const parameters = matchSegments(segments, sent);
      if (parameters) return { route, parameters };
    }
    return undefined;
  }
}

/** Sorts a fixed segment before a segment that the client chooses. */
function compare(one: readonly string[], other: readonly string[]): number {
  const index = one.findIndex((segment, i) => isChosen(segment) !== isChosen(other[i] as string));
  return index === -1 ? 0 : isChosen(one[index] as string) ? 1 : -1;
}

function isChosen(segment: string): boolean {
  return segment.startsWith("{");
}

function matchSegments(segments: readonly string[], sent: readonly string[]): Record<string, string> | undefined {
  const parameters: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const text = sent[index] as string;
    const name = /^\{(.*)\}$/.exec(segment)?.[1];
    if (name === undefined) {
      if (segment !== text) return undefined;
      continue;
    }
    const decoded = decode(text);
    if (!decoded) return undefined;
    parameters[name] = decoded;
  }
  return parameters;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
