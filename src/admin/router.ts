// Which route a path has. A pattern such as `/operator/sites/{site}` has a name in braces in the place of each segment that a client chooses.

interface Found<Route> {
  readonly route: Route;
  /** The segments that a client chose, decoded, by their names in the pattern. */
  readonly parameters: Readonly<Record<string, string>>;
}

export class Router<Route> {
  /** By the number of segments. */
  readonly #patterns = new Map<number, { readonly segments: readonly string[]; readonly route: Route }[]>();

  /** @param routes by pattern. Of two that a path matches, the first one counts */
  constructor(routes: ReadonlyMap<string, Route>) {
    for (const [pattern, route] of routes) {
      const segments = pattern.split("/");
      const alike = this.#patterns.get(segments.length) ?? [];
      alike.push({ segments, route });
      this.#patterns.set(segments.length, alike);
    }
  }

  /** The route of `path`; undefined when there is none, or a segment is not valid percent-encoded UTF-8. */
  find(path: string): Found<Route> | undefined {
    const sent = path.split("/");
    for (const { segments, route } of this.#patterns.get(sent.length) ?? []) {
      const parameters = matched(segments, sent);
      if (parameters) return { route, parameters };
    }
    return undefined;
  }
}

function matched(segments: readonly string[], sent: readonly string[]): Record<string, string> | undefined {
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
