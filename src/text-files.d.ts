// Files that are imported as text, so that a single executable contains them.

declare module "*.sql" {
  const text: string;
  export default text;
}

declare module "*.md" {
  const text: string;
  export default text;
}

declare module "*.css" {
  const text: string;
  export default text;
}

declare module "*.txt" {
  const text: string;
  export default text;
}

declare module "*.yml" {
  const text: string;
  export default text;
}

declare module "*.http" {
  const text: string;
  export default text;
}

declare module "*.sh" {
  const text: string;
  export default text;
}

declare module "*.py" {
  const text: string;
  export default text;
}

declare module "*.php" {
  const text: string;
  export default text;
}

declare module "*.java" {
  const text: string;
  export default text;
}

declare module "*.cs" {
  const text: string;
  export default text;
}

declare module "*.mjs" {
  const text: string;
  export default text;
}

declare module "*/page.js" {
  const text: string;
  export default text;
}

declare module "*/key.js" {
  const text: string;
  export default text;
}

declare module "*/try.js" {
  const text: string;
  export default text;
}

/** Imported as a file: its path. */
declare module "*.tgz" {
  const path: string;
  export default path;
}

/** Imported as a file: its path. */
declare module "*.scripts" {
  const path: string;
  export default path;
}
