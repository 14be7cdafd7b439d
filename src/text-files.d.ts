declare module "*.sql" {
  const text: string;
  export default text;
}

declare module "*.md" {
  const text: string;
  export default text;
}

/** Imported as a file: its path. */
declare module "@scalar/api-reference/browser/standalone.js" {
  const path: string;
  export default path;
}
