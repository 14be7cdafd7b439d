// Runs the conformance cases against a release's executable.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { freePort } from "../../../test/support/postgres/server.ts";
import { openWorkspace } from "../../../test/support/programs/command.ts";
import { runCases } from "../../checks/conformance/run.ts";

/**
 * Starts `program` with sample data, and returns a report that's always the same for the same executable.
 * @throws Error with the failed cases, or those that couldn't be tested
 */
export async function conformanceReport(program: string, build: string): Promise<string> {
  const workspace = openWorkspace(undefined, [program]);
  const run = async (...args: string[]) => (await workspace.mustRun(args)).trim();
  const newKey = (...args: string[]) => run("key", "create", "--site", "demo", ...args);
  try {
    const { url } = await workspace.serve(["--demo"]);
    await run("site", "add", "other");
    await run("site", "add", "closed", "--hostname", "closed.example");
    await run("site", "set", "closed", "--suspend");
    await run("site", "sandbox", "demo");
    const revokedKey = await newKey();
    await run("key", "revoke", revokedKey.slice(0, 12));
    const webhookPort = String(await freePort());
    const webhook = await run("webhook", "add", "--site", "demo", "--json", `http://127.0.0.1:${webhookPort}/`);
    const extras = {
      sandboxKey: await newKey("--sandbox"),
      readKey: await newKey("--scope", "read"),
      otherKey: await run("key", "create", "--site", "other"),
      revokedKey,
      limitedKey: await newKey("--rate", "1"),
      suspendedHost: "closed.example",
      webhookPort,
      webhookSecret: JSON.parse(webhook).secret,
      webhookKey: await newKey("--scope", "read", "--can", "webhooks:write"),
    };
    const { signal } = new AbortController();
    const outcomes = await runCases({ url, key: await newKey(), extras, formats: ["json", "xml"], signal });
    const wrong = outcomes.filter(({ result }) => result !== "passed");
    if (wrong.length > 0) throw new Error(`the executable doesn't conform to docs/contract.md: ${Bun.inspect(wrong)}`);
    const digest = createHash("sha256").update(readFileSync(program)).digest("hex");
    return `npm run conformance, against ${basename(program)} ${build}
SHA-256 of the executable: ${digest}
${outcomes.length} passed, 0 failed, 0 not tested. The numbers are those of docs/contract.md.

${outcomes.map(({ number, format, title, result }) => `${result} ${number} ${format} ${title}`).join("\n")}
`;
  } finally {
    await workspace.close();
  }
}
