// Tries a server process's console, without a page.

import { expect } from "bun:test";
import type { RunOptions, Served, Workspace } from "../programs/command.ts";
import { differsFromSource, scriptOf } from "./script.ts";

/** Checks that a server's console was built from this source, and that an operator added by command can sign in and see `site`. */
export async function expectConsole(
  workspace: Workspace,
  server: Served,
  site: string,
  options?: RunOptions,
): Promise<void> {
  const { adminUrl = "" } = server;
  expect(await differsFromSource(adminUrl)).toBe(false);
  for (const encoding of ["br", "gzip"]) {
    const { headers, bytes } = await scriptOf(adminUrl, encoding);
    expect([headers.get("Content-Encoding"), bytes.length < 450_000]).toEqual([encoding, true]);
  }
  await workspace.mustRun(["operator", "add", "olga"], options);
  const [link = ""] = (await workspace.mustRun(["operator", "link", "olga", "--url", adminUrl], options)).split("\n");
  const body = JSON.stringify({ link: new URL(link).hash.replace("#sign-in=", "") });
  // Keeping the connection would delay a stopping server.
  const headers = { Origin: adminUrl, "Content-Type": "application/json", Connection: "close" };
  const signIn = await fetch(`${adminUrl}/operator/session`, { method: "POST", headers, body });
  const [cookie = ""] = (signIn.headers.get("Set-Cookie") ?? "").split(";");
  const sites = await fetch(`${adminUrl}/operator/sites`, { headers: { Cookie: cookie, Connection: "close" } });
  expect(await sites.text()).toContain(`"${site}"`);
}
