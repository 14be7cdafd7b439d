// `npm run bench -- --profile`: measures the time of a look-up and of a create, by function. Writes `bench/profile.md`.

import { join } from "node:path";
import { load } from "../load.ts";
import { measure, type Setting } from "../measure.ts";
import { threadsOf } from "../proc.ts";
import type { Measured } from "../process.ts";
import type { Figures } from "../report.ts";
import { recordResponses } from "../responses.ts";
import { startBareBun } from "../results/run.ts";
import { type Scenario, scenariosFor } from "../scenarios.ts";
import { makeSite, type Site, startStorefront } from "../site.ts";
import { type CpuProfile, readCpuProfile } from "./cpu-profile.ts";
import { type Share, sampleShares } from "./perf.ts";
import { printSection, type Section, type Thread, writeProfile } from "./report.ts";

const sources = join(import.meta.dir, "../../src");
const main = join(sources, "main.ts");
const profiled = ["look-up, JSON", "create, durable, 64 connections"];

/**
 * Sends each load to this server, to a bare server, and to this server under the profiler.
 * @returns the number of failed requests
 */
export async function profile(setting: Setting, isShort: boolean): Promise<number> {
  const { folder } = setting;
  const site = await makeSite(folder, 1000);
  const sections: Section[] = [];
  for (const name of profiled) {
    const section = await profileScenario(name, site, setting);
    printSection(section);
    sections.push(section);
  }
  if (!isShort) await writeProfile(join(import.meta.dir, "../profile.md"), sections);
  return sections.flatMap(({ figures }) => figures).reduce((sum, { errors }) => sum + errors, 0);
}

async function profileScenario(name: string, site: Site, setting: Setting): Promise<Section> {
  const { folder } = setting;
  const product = await startStorefront(site, [process.execPath, main]);
  try {
    const responses = join(folder, "responses.json");
    const wanted = scenariosFor(1000, site.key).filter((scenario) => scenario.name === name);
    const [[scenario] = []] = await recordResponses(product.url, wanted, responses);
    if (!scenario) throw new Error(`there is no scenario ${name}`);
    const figures = await measureBeside(await startBareBun(responses), product, scenario, setting);
    const threads = await measureThreads(product, scenario, setting);
    return { ...threads, name, figures, profile: await sampleFunctions(site, scenario, setting) };
  } finally {
    await product.stop();
  }
}

async function measureBeside(
  bare: Measured,
  product: Measured,
  { name, connections, request }: Scenario,
  setting: Setting,
): Promise<Figures[]> {
  try {
    const contenders = [product, bare].map((server) => ({ server, request }));
    return await measure(name, connections, contenders, setting);
  } finally {
    await bare.stop();
  }
}

/** Measures the CPU time of one load by thread. During the load, perf takes samples. */
async function measureThreads(
  { pid, url }: Measured,
  { connections, request }: Scenario,
  { seconds, folder }: Setting,
): Promise<{ threads: Thread[]; shares: Share[] | undefined }> {
  const before = threadsOf(pid);
  const [{ requests }, shares] = await Promise.all([
    load(url, request, connections, seconds + 1, folder),
    sampleShares(pid, seconds, folder),
  ]);
  const threads = [...threadsOf(pid)].map(([name, { user, system }]) => ({
    name,
    user: (user - (before.get(name)?.user ?? 0)) / requests,
    system: (system - (before.get(name)?.system ?? 0)) / requests,
  }));
  return { threads, shares };
}

/** Sends one load to a server under Bun's profiler, which writes its file when the server exits. */
async function sampleFunctions(
  site: Site,
  { connections, request }: Scenario,
  { seconds, folder }: Setting,
): Promise<CpuProfile> {
  const file = `${connections}.cpuprofile`;
  const flags = ["--cpu-prof", "--cpu-prof-interval=200", `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${file}`];
  const server = await startStorefront(site, [process.execPath, ...flags, main]);
  await load(server.url, request, connections, seconds * 2, folder);
  await server.stop();
  return readCpuProfile(join(folder, file), sources);
}
