// Runs the Dockerfile's first stage without a container engine: its COPY and RUN lines, in a folder.

import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Report } from "./report.ts";
import { run } from "./tools.ts";

const root = join(import.meta.dir, "../..");

/**
 * Runs the stage with the last commit's files as the context.
 * @returns the folder that the second stage copies; undefined if a line failed, which is reported
 */
export function runBuildStage(report: Report, folder: string): string | undefined {
  const [context, stage, image] = ["context", "stage", "image"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const place of [context, stage]) mkdirSync(place);
  run(["bash", "-c", `git archive HEAD | tar --extract --directory '${context}'`], { cwd: root });
  const text = readFileSync(join(context, "deploy/Dockerfile"), "utf8");
  for (const line of (text.split(/^FROM scratch$/m)[0] ?? "").split("\n")) {
    if (line.startsWith("COPY ")) copy(line, context, stage);
    if (!line.startsWith("RUN ") || line.includes("apt-get")) continue;
    const command = line.slice(4).replaceAll(" /image", ` ${image}`);
    const { status, stderr } = run(["sh", "-c", command], {
      cwd: stage,
      env: { COMMIT: "0123456789abcdef" },
      seconds: 400,
    });
    if (status !== 0 && isOffline(stderr)) return void report.skip("image: it builds", "npm can't reach a registry");
    report.check(`image: RUN ${line.slice(4)}`, status === 0, stderr);
    if (status !== 0) return undefined;
  }
  const { stdout } = run([join(image, "usr/bin/storefront"), "--version"]);
  report.check("image: it knows its commit", stdout.includes("(0123456789ab)"), stdout);
  return image;
}

/** `COPY <file>... <folder>`. The context has nothing that .dockerignore excludes. */
function copy(line: string, context: string, stage: string): void {
  const names = line.split(" ").slice(1);
  const target = join(stage, names.pop() ?? "");
  for (const name of names)
    cpSync(join(context, name), name === "." ? target : join(target, name.replace(`${dirname(name)}/`, "")), {
      recursive: true,
    });
}

function isOffline(stderr: string): boolean {
  return /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT/.test(stderr);
}
