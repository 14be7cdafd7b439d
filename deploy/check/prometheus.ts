// Runs Prometheus against a real server, with deploy/prometheus.yml.

import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startProcess } from "../../test/support/programs/processes.ts";
import type { Report } from "./report.ts";
import { findProgram, freePort, replaceAll, run, startTool } from "./tools.ts";

const root = join(import.meta.dir, "../..");

export async function checkPrometheus(report: Report, folder: string): Promise<void> {
  const promtool = findProgram("promtool", ["prometheus"], folder);
  const prometheus = findProgram("prometheus", ["prometheus"], folder);
  if (!promtool || !prometheus)
    return report.skip("prometheus", "it isn't installed, and its Debian package can't be downloaded");
  copyFileSync(join(root, "docs/alerts.yml"), join(folder, "alerts.yml"));
  copyFileSync(join(root, "deploy/prometheus.yml"), join(folder, "prometheus.yml"));
  const { status, stdout, stderr } = run([promtool, "check", "config", "prometheus.yml"], { cwd: folder });
  report.check("prometheus: promtool accepts the configuration and the alerts", status === 0, stdout + stderr);
  await checkScrape(report, folder, prometheus);
}

async function checkScrape(report: Report, folder: string, prometheus: string): Promise<void> {
  const port = await freePort();
  const admin = `127.0.0.1:${await freePort()}`;
  const server = await startProcess({ DATABASE: `sqlite:${join(folder, "test.db")}`, ADMIN: admin, WORKERS: "2" });
  const config = replaceAll(readFileSync(join(root, "deploy/prometheus.yml"), "utf8"), { "127.0.0.1:8081": admin });
  await Bun.write(join(folder, "run.yml"), `global: { scrape_interval: 1s }\n${config}`);
  const options = [
    `--config.file=${folder}/run.yml`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const tool = startTool([prometheus, ...options]);
  try {
    const found = await query(port, 'up{job="storefront"} * on() group_left() count(storefront_build_info)');
    report.check("prometheus: it scrapes a server with two workers", found, "no sample within 20 seconds");
  } finally {
    await Promise.all([tool.stop(), server.end()]);
  }
}

/** Waits up to 20 seconds for `expression` to have a value above 0. */
async function query(port: number, expression: string): Promise<boolean> {
  const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`;
  for (const end = Date.now() + 20_000; Date.now() < end; await Bun.sleep(200)) {
    const response = await fetch(url).catch(() => undefined);
    const { data } = (response?.ok ? await response.json() : {}) as {
      data?: { result: { value: [number, string] }[] };
    };
    if (data?.result.some(({ value }) => Number(value[1]) > 0)) return true;
  }
  return false;
}
