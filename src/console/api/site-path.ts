// The path of a site in the API of the console.

/** Returns the path of a site, with `rest` after it: `/sites/garden/keys`. @param rest begins with `/`; by default, the path is that of the site itself */
export function sitePath(siteName: string, rest = ""): string {
  return `/sites/${encodeURIComponent(siteName)}${rest}`;
}
