// Runs the conformance cases against a release's executable.

import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { freePort } from "../../../test/support/postgres/server.ts";
import { runCases } from "../../checks/conformance/run.ts";
import { runIn } from "./run.ts";

/**
 * Starts `program` with sample data, and returns a report that's always the same for the same executable.
 * @throws Error with the failed cases, or those that couldn't be tested
 */
export async function conformanceReport(program: string, build: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "storefront-conformance-"));
  const database = ["--database", `sqlite:${join(folder, "demo.db")}`];
  const server = Bun.spawn(
    [program, "serve", "--demo", "--port", "0", "--admin", "none", "--log", "silent", ...database],
    {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  try {
    const url = await addressIn(server.stdout);
    if (!url) throw new Error(`the executable didn't start: ${await server.stderr.text()}`);
    const run = (...args: string[]) => runIn(folder, [program, ...args, ...database]);
    const newKey = (...args: string[]) => run("key", "create", "--site", "demo", ...args);
    await run("site", "add", "other");
    await run("site", "add", "closed", "--hostname", "closed.example");
    await run("site", "set", "closed", "--suspend");
    await run("site", "sandbox", "demo");
    const revokedKey = await newKey();
    await run("key", "revoke", revokedKey.slice(0, 12));
    const webhookPort = String(await freePort());
    const webhook = await run("webhook", "add", "--site", "demo", "--json", `http://127.0.0.1:${webhookPort}/`);
    const outcomes = await runCases({
      url,
      key: await newKey(),
      extras: {
        sandboxKey: await newKey("--sandbox"),
        readKey: await newKey("--scope", "read"),
        otherKey: await run("key", "create", "--site", "other"),
        revokedKey,
        limitedKey: await newKey("--rate", "1"),
        suspendedHost: "closed.example",
        webhookPort,
        webhookSecret: JSON.parse(webhook).secret,
        webhookKey: await newKey("--scope", "read", "--can", "webhooks:write"),
      },
      formats: ["json", "xml"],
      signal: new AbortController().signal,
    });
    const lines = outcomes.map(({ number, format, title, result }) => `${result} ${number} ${format} ${title}`);
    const wrong = outcomes.filter(({ result }) => result !== "passed");
    if (wrong.length > 0) throw new Error(`the executable doesn't conform to docs/contract.md: ${Bun.inspect(wrong)}`);
    const digest = createHash("sha256").update(readFileSync(program)).digest("hex");
    return `npm run conformance, against ${basename(program)} ${build}
SHA-256 of the executable: ${digest}
${outcomes.length} passed, 0 failed, 0 not tested. The numbers are those of docs/contract.md.

${lines.join("\n")}
`;
  } finally {
    server.kill();
    await server.exited;
    rmSync(folder, { recursive: true, force: true });
  }
}

async function addressIn(stdout: ReadableStream<Uint8Array>): Promise<string | undefined> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of stdout) {
    text += decoder.decode(chunk, { stream: true });
    const [, url] = /is listening on (\S+)/.exec(text) ?? [];
    if (url) return url;
  }
  return undefined;
}
