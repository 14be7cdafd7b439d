// Installs npm packages into a folder, with a fixed version of Node.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { tracked } from "../process.ts";
import type { Peer } from "./peer.ts";

/** The oldest that all peers and their compiled packages support, and a long-term release. */
const node = "24.21.0";

/** Time limit per installation in milliseconds, long because some packages are compiled. */
const limit = 20 * 60_000;

/** Installs Node from its npm package. Returns a production environment with Node and its headers, which npm needs to compile packages. */
export async function installNode(folder: string): Promise<Record<string, string>> {
  await npmInstall(folder, { dependencies: { node }, allowScripts: { node: true } }, {});
  const modules = join(folder, "node_modules/node");
  const headers = join(modules, "node_modules", `node-${process.platform}-${process.arch}`);
  const PATH = [join(modules, "bin"), process.env.PATH].join(delimiter);
  const env = { PATH, NODE_ENV: "production" };
  return existsSync(join(headers, "include")) ? { ...env, npm_config_nodedir: headers } : env;
}

/** Installs a peer's packages. @throws Error with a one-line reason */
export async function installPeer(
  folder: string,
  { packages, overrides = {}, builds = [] }: Peer,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  if (Object.keys(packages).length === 0) mkdirSync(folder);
  else {
    const allowScripts = Object.fromEntries(builds.map((name) => [name, true]));
    await npmInstall(folder, { dependencies: packages, overrides, allowScripts }, env);
  }
}

async function npmInstall(folder: string, manifest: object, env: Readonly<Record<string, string>>): Promise<void> {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module", ...manifest }));
  const cmd = ["npm", "install", "--no-audit", "--no-fund"];
  const child = tracked(
    Bun.spawn(cmd, {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "pipe"],
      timeout: limit,
    }),
  );
  const output = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(explain(output));
}

function explain(output: string): string {
  if (output.includes("gyp ERR!")) {
    const name = /npm error path .*node_modules\/(\S+)/.exec(output)?.[1] ?? "a package";
    return `compiling ${name} needs a C++ compiler, make and Python`;
  }
  const [code, ...lines] = [...output.matchAll(/^npm error (?!A complete log)(.+)$/gm)].map(([, line]) => line);
  const reason = (lines[0] ?? code ?? "npm stopped early").replaceAll(/https?:\/\/\S+/g, "the registry");
  return `npm couldn't install it: ${reason}`;
}
