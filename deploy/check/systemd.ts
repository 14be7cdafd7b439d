// Checks the systemd units with systemd-analyze, and runs the service under a systemd that boots in its own namespaces.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findBinary } from "./program.ts";
import type { Report } from "./report.ts";
import { run } from "./tools.ts";

const unitNames = ["storefront.service", "storefront-backup.service", "storefront-backup.timer"];
const units = join(import.meta.dir, "..");
const unit = join(units, "storefront.service");

/** For `systemd-analyze security`, where 0 is the least exposure and 10 the most. */
const maxExposure = 3;

export async function checkSystemd(report: Report, folder: string): Promise<void> {
  if (run(["systemd-analyze", "--version"]).status !== 0) return report.skip("systemd", "systemd isn't installed");
  checkUnit(report, folder);
  for (const name of unitNames.filter((one) => one.endsWith(".service"))) {
    const { stdout } = run(["systemd-analyze", "security", "--offline=true", "--no-pager", join(units, name)]);
    const exposure = Number(/Overall exposure level[^:]*: ([0-9.]+)/.exec(stdout)?.[1] ?? Number.NaN);
    report.check(
      `systemd: the exposure of ${name} is below ${maxExposure} (${exposure})`,
      exposure < maxExposure,
      stdout,
    );
  }
  if (process.getuid?.() !== 0) return report.skip("systemd: the service runs", "booting systemd needs root");
  await checkService(report, folder);
}

/** `systemd-analyze verify` looks for the units' programs, so it gets a root folder that has them. */
function checkUnit(report: Report, folder: string): void {
  const root = join(folder, "verify");
  for (const place of ["etc/systemd/system", "usr/local/bin", "usr/bin"])
    mkdirSync(join(root, place), { recursive: true });
  const install = (from: string, to: string, mode: string) => run(["install", "-m", mode, from, join(root, to)]);
  for (const name of unitNames) install(join(units, name), `etc/systemd/system/${name}`, "644");
  install("/bin/true", "usr/local/bin/storefront", "755");
  install("/bin/true", "usr/bin/kill", "755");
  const targets = ["sysinit", "basic", "shutdown", "network-online", "multi-user", "timers"];
  for (const target of targets) writeFileSync(join(root, `etc/systemd/system/${target}.target`), "[Unit]\n");
  const { status, stderr } = run(["systemd-analyze", "verify", `--root=${root}`, ...unitNames]);
  report.check("systemd: systemd-analyze verify accepts the units", status === 0 && stderr === "", stderr);
  const missing = ["ExecStart=/usr/local/bin/storefront serve", "User=storefront"].filter(
    (line) => !readFileSync(unit, "utf8").split("\n").includes(line),
  );
  report.check("systemd: the unit has the program and user that these checks use", missing.length === 0, missing);
}

async function checkService(report: Report, folder: string): Promise<void> {
  const own = join(folder, "boot");
  mkdirSync(own);
  const script = join(import.meta.dir, "systemd.sh");
  const { stdout, stderr } = run(["bash", script, "outer", units, findBinary(), own], { seconds: 150 });
  if (!/^(ok|FAULT) /m.test(stdout))
    return report.skip("systemd: the service runs", `systemd doesn't boot here: ${stderr}`);
  for (const [, verdict, what = ""] of stdout.matchAll(/^(ok|FAULT) (.+)$/gm))
    report.check(`systemd: ${what}`, verdict === "ok");
  const isWhole = stdout.endsWith("end\n") && !stdout.includes("FAULT");
  report.check("systemd: the service's checks all ran", isWhole, stdout + stderr);
}
