import { gunzipSync } from "node:zlib";

export interface ClientPackage {
  readonly version: string;
  /** Its path on this server, including the version, which differs for each build. */
  readonly path: string;
  /** The archive, compressed. */
  readonly bytes: Uint8Array;
}

/** The content at this path changes with the program, so pages use the one with the version. */
export const unversionedClientPath = "/docs/client.tgz";

/** Undefined in a checkout where `npm run client` hasn't built it. The server's package and single executable always contain it. */
export async function readClientPackage(): Promise<ClientPackage | undefined> {
  const file = await import("../../dist/client.tgz", { with: { type: "file" } }).catch(() => undefined);
  if (!file) return undefined;
  const bytes = await Bun.file(file.default).bytes();
  const version = versionOf(gunzipSync(bytes));
  return { version, path: `/docs/client-${version}.tgz`, bytes };
}

/** In the repository, pages say `client-<version>.tgz`. */
export function withClientVersion(text: string, client: ClientPackage | undefined): string {
  return client ? text.replaceAll("client-<version>.tgz", `client-${client.version}.tgz`) : text;
}

/** Reads the version from a package's manifest. @param archive in tar, each file is a header of 512 bytes, followed by its content in such blocks */
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
