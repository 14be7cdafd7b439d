import { gunzipSync } from "node:zlib";

/** The npm package of the client. */
export interface ClientPackage {
  readonly version: string;
  /** Its path on this server, which contains the version. Another build has another version. */
  readonly path: string;
  /** The archive, compressed. */
  readonly bytes: Uint8Array;
}

/** The path of the client without a version. Its content changes with the program, so the pages name the path with the version. */
export const unversionedClientPath = "/docs/client.tgz";

/**
 * Reads the client that belongs to this program. `npm run client` builds it; the package and the single executable of the server contain it.
 * Returns undefined in a checkout in which the client was not built.
 */
export async function readClientPackage(): Promise<ClientPackage | undefined> {
  const file = await import("../../dist/client.tgz", { with: { type: "file" } }).catch(() => undefined);
  if (!file) return undefined;
  const bytes = await Bun.file(file.default).bytes();
  const version = versionOf(gunzipSync(bytes));
  return { version, path: `/docs/client-${version}.tgz`, bytes };
}

/** Replaces the version of the client in the text of a page, which is `client-<version>.tgz` in the repository. */
export function withClientVersion(text: string, client: ClientPackage | undefined): string {
  return client ? text.replaceAll("client-<version>.tgz", `client-${client.version}.tgz`) : text;
}

/** Returns the version in the manifest of a package. @param archive a tar archive: each file is a block of 512 bytes, and its content in such blocks */
function versionOf(archive: Buffer): string {
  for (let start = 0; start + 512 <= archive.length; ) {
    const name = archive.toString("latin1", start, start + 100).replace(/\0.*/s, "");
    const size = Number.parseInt(archive.toString("latin1", start + 124, start + 135), 8) || 0;
    const content = start + 512;
    if (name === "package/package.json") return JSON.parse(archive.toString("utf8", content, content + size)).version;
    start = content + Math.ceil(size / 512) * 512;
  }
  throw new Error("dist/client.tgz has no package.json; run `npm run client`");
}
