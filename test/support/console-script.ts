// The page of the console and its script, as a browser loads them.

import { buildConsole } from "../../src/admin/console-build.ts";

export interface LoadedScript {
  readonly url: string;
  readonly headers: Headers;
  /** As sent. */
  readonly bytes: Buffer<ArrayBuffer>;
}

export async function documentOf(adminUrl: string): Promise<string> {
  const response = await fetch(adminUrl);
  if (response.status !== 200) throw new Error(`the console has status ${response.status}`);
  return response.text();
}

/** The script that the page names, in this encoding. */
export async function scriptOf(adminUrl: string, encoding: string): Promise<LoadedScript> {
  const [, path = ""] = /<script src="([^"]+)"/.exec(await documentOf(adminUrl)) ?? [];
  const url = new URL(path, adminUrl).href;
  const response = await fetch(url, { headers: { "Accept-Encoding": encoding }, decompress: false });
  if (response.status !== 200) throw new Error(`the script of the console has status ${response.status}`);
  return { url, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** Whether the server sends another script than this source makes. */
export async function differsFromSource(adminUrl = ""): Promise<boolean> {
  const { bytes } = await scriptOf(adminUrl, "identity");
  return Buffer.compare(bytes, Buffer.from(await buildConsole())) !== 0;
}
