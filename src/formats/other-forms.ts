// Guesses what a body is if it isn't the JSON or XML it should be.

interface Form {
  /** Set for formats that requests can have. */
  readonly format?: "json" | "xml" | "form";
  /** The end of a message. */
  readonly hint: string;
}

const forms: readonly (Form & { readonly pattern: RegExp })[] = [
  { pattern: /^\[object \w+\]/, hint: "this is how JavaScript prints an object; send the result of JSON.stringify" },
  { pattern: /^'\s*[[{<]/, hint: "remove the `'` around the body, which your shell did not" },
  { pattern: /^[{[]/, format: "json", hint: "this looks like JSON" },
  { pattern: /^<(?:!doctype )?html\b/i, hint: "this is an HTML page" },
  { pattern: /^</, format: "xml", hint: "this looks like XML" },
  { pattern: /^&(?:lt|quot|#\w+);/i, hint: "this is escaped for HTML; send the text itself" },
  { pattern: /^%(?:7b|5b|3c)/i, hint: "this is percent-encoded; send the text itself" },
  { pattern: /^(?:ey[IJA]|ew[0o]|W[13]s|PD94|PE[J-Z])[\w+/=\r\n-]*$/, hint: "this looks like Base64; send it decoded" },
  { pattern: /^[\w.%+[\]-]+=|^--.*\r?\ncontent-disposition:/i, format: "form", hint: "this looks like a form" },
  { pattern: /^(?:array|\w+ object)\s*\(|^[aO]:\d+:/i, hint: "PHP printed this; send the result of json_encode" },
  { pattern: /^[\w.$]+\(/, hint: "this looks like code; send only JSON" },
  { pattern: /^---\s|^[A-Za-z]\w*:\s/, hint: "this looks like YAML" },
  { pattern: /^[\w ."]+(?:[,;\t][\w ."]+)+\r?\n/, hint: "this looks like CSV" },
];

const searchLength = 500;

/** Ignores a byte order mark and white space at the start. Undefined if it looks like nothing we know. */
export function guessForm(text: string): Form | undefined {
  const start = text.slice(0, searchLength).replace(/^\ufeff?\s*/, "");
  return forms.find(({ pattern }) => pattern.test(start));
}
