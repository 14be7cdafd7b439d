// Runs the image's files, as image-files.sh lays them out, as the image's user in a chroot where only /data is writable.

import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runBuildStage } from "./dockerfile.ts";
import { findBinary, namedBinary } from "./program.ts";
import type { Report } from "./report.ts";
import { run } from "./tools.ts";

const deploy = join(import.meta.dir, "..");

export async function checkImage(report: Report, folder: string): Promise<void> {
  checkDockerfile(report);
  const image = namedBinary() ? layOut(report, folder) : runBuildStage(report, folder);
  if (!image) return;
  const size = run(["du", "--summarize", "--bytes", image]).stdout.split("\t")[0];
  const files = run(["find", ".", "-type", "f"], { cwd: image }).stdout.trim().split("\n").sort();
  report.check(
    `image: it has ${files.length} files, ${Math.round(Number(size) / 1e6)} MB, and no shell`,
    !files.some((file) => /\/(ba|da)?sh$/.test(file)),
    files,
  );
  if (process.getuid?.() !== 0) return report.skip("image: its files run", "making a chroot needs root");
  for (const place of ["data", "proc", "dev"]) mkdirSync(join(image, place), { recursive: true });
  chmodSync(folder, 0o755);
  const { stdout, stderr, status } = run(
    [
      "unshare",
      "--mount",
      "--net",
      "--pid",
      "--fork",
      "--kill-child",
      "bash",
      join(import.meta.dir, "image.sh"),
      image,
    ],
    {
      seconds: 120,
    },
  );
  for (const [, verdict, what = ""] of stdout.matchAll(/^(ok|FAULT) (.+)$/gm))
    report.check(`image: ${what}`, verdict === "ok");
  const isWhole = status === 0 && stdout.endsWith("end\n") && !stdout.includes("FAULT");
  report.check("image: the script in the chroot finished without a failure", isWhole, stdout + stderr);
}

/** Lays out the files with the executable from `--binary`. Returns undefined if that fails. */
function layOut(report: Report, folder: string): string | undefined {
  const image = join(folder, "image");
  const { status, stderr } = run([join(deploy, "image-files.sh"), findBinary(), image]);
  report.check("image: its files can be laid out", status === 0, stderr);
  return status === 0 ? image : undefined;
}

/** Checks what image.sh relies on. */
function checkDockerfile(report: Report): void {
  const text = readFileSync(join(deploy, "Dockerfile"), "utf8");
  const lines = [
    "FROM scratch",
    "USER 65532:65532",
    "WORKDIR /data",
    "VOLUME /data",
    'ENTRYPOINT ["/usr/bin/storefront"]',
    'CMD ["serve"]',
  ];
  const missing = lines.filter((line) => !text.split("\n").includes(line));
  report.check(
    "image: the Dockerfile has the user, folder and command that these checks use",
    missing.length === 0,
    missing,
  );
  if (run(["docker", "build", "--help"]).status !== 0 || run(["docker", "info"]).status !== 0)
    report.skip("image: `docker build` works", "no container engine is running on this machine");
}
