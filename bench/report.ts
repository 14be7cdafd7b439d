import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { loadTool } from "./load.ts";

interface Sample {
  readonly perSecond: number;
  readonly cpu: number;
  readonly p99: number;
  readonly memory: number;
}

/** Medians of what was measured of one server in one scenario. */
export interface Figures extends Sample {
  readonly scenario: string;
  readonly server: string;
}

export function toFigures(scenario: string, server: string, samples: readonly Sample[]): Figures {
  const median = (pick: (sample: Sample) => number) => {
    const sorted = samples.map(pick).sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  };
  return {
    scenario,
    server,
    perSecond: median((sample) => sample.perSecond),
    cpu: median((sample) => sample.cpu),
    p99: median((sample) => sample.p99),
    memory: median((sample) => sample.memory),
  };
}

/** The rows of one scenario; the first server is compared with each. */
export function printFigures(figures: readonly Figures[]): void {
  for (const line of toRows(figures)) console.log(line);
}

/** Writes `bench/results.md`. */
export function writeReport(figures: readonly Figures[], notes: readonly string[]): void {
  const scenarios = Map.groupBy(figures, ({ scenario }) => scenario);
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}`;
  const versions = `Bun ${Bun.version}, Node ${nodeVersion()}, ${loadTool}`;
  const lines = [
    "# Benchmark",
    "",
    `Made by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)}: ${machine}; ${versions}.`,
    "",
    "CPU is the time of the server's whole process tree per request, the steadier figure; `x` is this server's CPU time divided by the other's. The bare",
    "servers answer constant bytes with the same headers, check nothing and store nothing.",
    "",
    "| scenario | server | CPU | x | requests/s | p99 | memory |",
    "|---|---|---|---|---|---|---|",
    ...[...scenarios.values()].flatMap(toRows),
    "",
    ...notes.flatMap((note) => [note, ""]),
  ];
  void Bun.write(join(import.meta.dir, "results.md"), lines.join("\n"));
}

function toRows(figures: readonly Figures[]): string[] {
  const [ours] = figures;
  return figures.map((row) => {
    const ratio = row === ours || !ours ? "" : (ours.cpu / row.cpu).toFixed(2);
    const memory = `${Math.round(row.memory / 2 ** 20)} MiB`;
    const cells = [
      row.scenario,
      row.server,
      `${toMicros(row.cpu)} µs`,
      ratio,
      Math.round(row.perSecond),
      `${row.p99.toFixed(2)} ms`,
      memory,
    ];
    return `| ${cells.join(" | ")} |`;
  });
}

function toMicros(cpu: number): string {
  return cpu < 100 ? cpu.toFixed(1) : String(Math.round(cpu));
}

function nodeVersion(): string {
  return Bun.spawnSync(["node", "--version"]).stdout.toString().trim();
}
