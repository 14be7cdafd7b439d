// Finds or downloads Bun for each platform that we build a single executable for.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { dependencies } from "../../package.json" with { type: "json" };

/** npm package with Bun, by platform. */
export const runtimes: Readonly<Record<string, string>> = {
  "linux-x64": "@oven/bun-linux-x64",
  "linux-x64-musl": "@oven/bun-linux-x64-musl",
  "linux-arm64": "@oven/bun-linux-aarch64",
  "linux-arm64-musl": "@oven/bun-linux-aarch64-musl",
  "darwin-x64": "@oven/bun-darwin-x64",
  "darwin-arm64": "@oven/bun-darwin-aarch64",
};

const cache = join(import.meta.dir, "../../node_modules/.cache/storefront");

/** Such as `linux-x64` or `linux-arm64-musl`. */
export function ownPlatform(): string {
  const isMusl = process.platform === "linux" && readdirSync("/lib").some((name) => name.startsWith("ld-musl-"));
  return `${process.platform}-${process.arch}${isMusl ? "-musl" : ""}`;
}

/** Returns the path of Bun for `platform`, in package.json's version. For other platforms than this machine's, npm downloads it once. */
export async function bunFor(platform: string): Promise<string> {
  if (platform === ownPlatform()) return process.execPath;
  const packed = `${runtimes[platform]}@${dependencies.bun}`;
  const folder = join(cache, packed.replaceAll("/", "-"));
  if (!existsSync(folder)) await download(packed, folder);
  return join(folder, "package/bin/bun");
}

/** Downloads a package and unpacks it into `folder`, which only exists once it's complete. npm checks the download's digest. */
async function download(packed: string, folder: string): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const place = mkdtempSync(join(cache, "download-"));
  try {
    await run(["npm", "pack", "--silent", "--pack-destination", place, packed], cache);
    const [file = ""] = readdirSync(place);
    await run(["tar", "-xzf", join(place, file), "-C", place], cache);
    rmSync(join(place, file));
    renameSync(place, folder);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

async function run(command: string[], cwd: string): Promise<void> {
  const status = await Bun.spawn(command, { cwd, stdio: ["ignore", "ignore", "inherit"] }).exited;
  if (status !== 0) throw new Error(`${command.join(" ")} ended with ${status}`);
}
