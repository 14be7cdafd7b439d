// Loads the console's page and script as a browser would.

import { buildConsole } from "../../../src/admin/console-build.ts";

export interface LoadedScript {
  readonly url: string;
  readonly headers: Headers;
  /** As sent. */
  readonly bytes: Buffer<ArrayBuffer>;
}

export async function documentOf(adminUrl: string): Promise<string> {
  const response = await fetch(adminUrl);
  if (response.status !== 200) throw new Error(`the console responds with a ${response.status}`);
  return response.text();
}

/** Loads the script that the page refers to, or another one by its name, in this encoding. */
export async function scriptOf(adminUrl: string, encoding: string, name?: string): Promise<LoadedScript> {
  // The response comes when the scripts have been built. Until then, the page doesn't refer to them.
  await fetch(new URL("/console/main-new.js", adminUrl)).then((made) => made.arrayBuffer());
  const [, path = ""] = /<script type="module" src="([^"]+)"/.exec(await documentOf(adminUrl)) ?? [];
  const url = new URL(name ? `/console/${name}` : path, adminUrl).href;
  const response = await fetch(url, { headers: { "Accept-Encoding": encoding }, decompress: false });
  if (response.status !== 200) throw new Error(`the console's script responds with a ${response.status}`);
  return { url, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** Loads the licences of the script's packages, from the path in its first line. */
export async function noticesOf(adminUrl: string): Promise<string> {
  const { bytes } = await scriptOf(adminUrl, "identity");
  const [, path = ""] = /^\/\*! For license information please see (\S+) \*\//.exec(bytes.toString()) ?? [];
  const response = await fetch(new URL(path, adminUrl));
  if (path === "" || response.status !== 200)
    throw new Error(`the licences at \`${path}\` have status ${response.status}`);
  return response.text();
}

/** Whether one of the server's scripts or the licences differ from what this source builds. */
export async function differsFromSource(adminUrl = ""): Promise<boolean> {
  const { scripts, notices } = await buildConsole();
  for (const [name, script] of scripts) {
    const { bytes } = await scriptOf(adminUrl, "identity", name);
    if (Buffer.compare(bytes, Buffer.from(script)) !== 0) return true;
  }
  return (await noticesOf(adminUrl)) !== notices;
}
