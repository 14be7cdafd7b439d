// The names in the comments of a TypeScript file: the parameters of a function (`@param`), names in backticks, and files.

/** A parameter that a comment names, such as `options.limit`, and the parameter list of the function below the comment. */
export interface NamedParameter {
  readonly path: string;
  readonly parameters: string;
}

/** Returns what each `@param` of a file names. */
export function namedParameters(text: string): NamedParameter[] {
  return [...text.matchAll(/\/\*\*((?:(?!\*\/).)*)\*\//gs)].flatMap((comment) => {
    const [, content = ""] = comment;
    const parameters = parameterList(text.slice(comment.index + comment[0].length));
    return [...content.matchAll(/@param (\w+(?:\.\w+)*)/g)].map(([, path = ""]) => ({ path, parameters }));
  });
}

/** Returns the text in the first pair of parentheses. */
function parameterList(declaration: string): string {
  const start = declaration.indexOf("(");
  let depth = 0;
  for (let at = start; at < declaration.length; at++) {
    if (declaration[at] === "(") depth++;
    if (declaration[at] === ")" && --depth === 0) return declaration.slice(start + 1, at);
  }
  return "";
}

/** Whether the parameter exists, and its member too, in the parameter list or in the named type of the parameter. @param sources all files */
export function isParameter({ path, parameters }: NamedParameter, sources: readonly string[]): boolean {
  const [name = "", member] = path.split(".");
  const declared = new RegExp(`\\b${name}\\b\\??(?:: (?:readonly )?(\\w+))?`).exec(parameters);
  if (!declared || member === undefined) return declared !== null;
  const [, type] = declared;
  const body = new RegExp(`(?:interface|type) ${type}\\b[^{;]*\\{.*?^\\}`, "ms");
  const places = [parameters, ...sources.flatMap((text) => body.exec(text)?.[0] ?? [])];
  return places.some((place) => new RegExp(`\\b${member}\\b`).test(place));
}

const comment = /\/\*\*?(?:(?!\*\/).)*\*\/|(?:^|\s)\/\/ [^\n]*/gs;

/** Returns the names of variables and functions that the comments of a file have in backticks, such as `limit` and `close()`. */
export function namesInBackticks(text: string): string[] {
  return (text.match(comment) ?? []).flatMap((one) =>
    [...one.matchAll(/`([^`\n]+)`/g)].flatMap(
      ([, quoted = ""]) => /^#?([a-z][a-zA-Z0-9]+)(?:\(\))?$/.exec(quoted)?.[1] ?? [],
    ),
  );
}

/** Returns the words of a file outside of its comments. */
export function wordsOfCode(text: string): ReadonlySet<string> {
  return new Set(text.replaceAll(comment, " ").match(/[A-Za-z_]\w*/g));
}

/** Returns the names of files in the comments of a file, such as `pool.ts` and `store/database/table-swap.ts`. */
export function namedFiles(text: string): string[] {
  return (text.match(comment) ?? [])
    .map((one) => one.replaceAll(/https?:\S+/g, ""))
    .flatMap(
      (one) => one.match(/(?<![\w./@*-])(?:\.\.?\/)*(?:[a-z0-9-]+\/)*[a-z0-9][a-z0-9.-]*\.(?:tsx?|mjs|sql)\b/g) ?? [],
    );
}
