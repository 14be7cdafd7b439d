// Generated clients from the OpenAPI document: each is compiled, and calls every operation.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publicResources } from "../../src/model/resource.ts";
import { toOpenapi } from "../../src/reference/openapi/document.ts";
import type { OpenapiDocument } from "../../src/reference/openapi/document-reader.ts";
import { toOpenapi30 } from "../../src/reference/openapi/openapi-30.ts";
import { allResources } from "../../src/resources/all.ts";
import { startDemo } from "../support/programs/demo-server.ts";
import { tool } from "./tools/tools.ts";

const home = import.meta.dir;
const folder = mkdtempSync(join(tmpdir(), "storefront-generated-"));
/** This project's compiler, which takes a third of the time of the version that the generators need. */
const compiler = join(home, "../../node_modules/typescript/bin/tsc");

/** The documents, by OpenAPI version. */
const documents: Record<string, string> = {
  "3.1": join(home, "../../docs/openapi.json"),
  "3.0": join(folder, "openapi-3.0.json"),
};

/** The commands, without the input. */
const generators: Record<string, string[]> = {
  "hey-api": [
    tool("@hey-api/openapi-ts/bin/run.js"),
    "-o",
    "generated",
    "-c",
    "@hey-api/client-fetch",
    "--no-log-file",
    "-i",
  ],
  "openapi-fetch": [tool("openapi-typescript/bin/cli.js"), "-o", "generated/schema.ts"],
  orval: [tool("orval/dist/bin/orval.js"), "--output", "generated/client.ts", "--client", "fetch", "--input"],
};

beforeAll(() => {
  const older = toOpenapi30(toOpenapi(publicResources(allResources)) as OpenapiDocument);
  writeFileSync(documents["3.0"] as string, JSON.stringify(older));
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(tool("openapi-fetch"), join(folder, "node_modules/openapi-fetch"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** OpenAPI 3.0 is for generators in other languages, so one is enough here. docs/clients.md lists the others. */
const cases = [...Object.keys(generators).map((name) => [name, "3.1"] as const), ["openapi-fetch", "3.0"] as const];

for (const [name, version] of cases) {
  test(`the client that ${name} generates from OpenAPI ${version} compiles and uses the whole interface`, async () => {
    const place = join(folder, `${name}-${version}`);
    mkdirSync(place);
    cpSync(join(home, `drivers/${name}.ts`), join(place, "driver.ts"));
    writeFileSync(join(place, "tsconfig.json"), JSON.stringify(tsconfig));
    await run(["node", ...(generators[name] as string[]), documents[version] as string], place);
    await run(["node", compiler, "--project", "."], place);
    const server = await startDemo();
    try {
      const output = await run([process.execPath, "driver.ts", server.url, server.key], place);
      const [read, list, statuses, ...rest] = JSON.parse(output);
      expect(read).toBe("Acme Ltd A1 1 Leeds Y");
      expect(list).toContain("Acme Ltd");
      expect(statuses.at(-1)).toBe("Dispatched");
      expect(rest).toEqual([
        ["Dispatched", 5],
        [2, "Newcastle High Street"],
        true,
        "/docs/problems/not-found",
        [2, "string", true],
        [201, 1],
      ]);
    } finally {
      await server.stop();
    }
  }, 60_000);
}

// This release of openapi-generator is the last whose package contains the generator itself, which has all libraries that its client needs.
const hasJava = Bun.which("javac") !== null;
test(`the client that openapi-generator generates for Java ${hasJava ? "compiles and works" : "can't be compiled here"}`, async () => {
  if (!hasJava) return;
  const place = join(folder, "java");
  const jar = tool("@openapitools/openapi-generator-cli/bin/openapi-generator.jar");
  const options = ["--library", "native", "--additional-properties=openApiNullable=false,dateLibrary=java8"];
  const input = documents["3.0"] as string;
  await run(["java", "-jar", jar, "generate", "-g", "java", ...options, "-i", input, "-o", place], folder);
  const sources = [...new Bun.Glob("src/main/**/*.java").scanSync(place), join(home, "drivers/Driver.java")];
  await run(["javac", "-encoding", "UTF-8", "-cp", jar, "-d", "classes", ...sources], place);
  const server = await startDemo();
  try {
    const output = await run(["java", "-cp", `classes:${jar}`, "Driver", server.url, server.key], place);
    const [read, list, ...rest] = output.trim().split("\n");
    expect(read).toBe("Acme A1 Leeds");
    expect(list).toContain("Acme");
    expect(rest).toEqual([
      "2",
      "[201 By batch, 200 Renamed]",
      "brands By batch B2",
      "orderstatuses Renamed null",
      "1 deleted, 1 restored",
      "/docs/problems/not-found",
    ]);
  } finally {
    await server.stop();
  }
}, 120_000);

const tsconfig = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: "ES2022",
    module: "Preserve",
    moduleResolution: "bundler",
    lib: ["ES2023", "DOM", "DOM.Iterable"],
    types: ["node"],
    typeRoots: [join(home, "../../node_modules/@types")],
    skipLibCheck: true,
  },
  files: ["driver.ts"],
};

async function run(command: string[], cwd: string): Promise<string> {
  const running = Bun.spawn(command, {
    cwd,
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, CI: "true", SCARF_ANALYTICS: "false" },
  });
  const [output, complaint] = await Promise.all([running.stdout.text(), running.stderr.text()]);
  if ((await running.exited) !== 0) throw new Error(`${command.join(" ")}:\n${output}${complaint}`);
  return output;
}
