import { cpus, totalmem } from "node:os";
import { loadTool } from "./load.ts";

/** What one load told of one server. CPU in microseconds per request, memory in bytes. */
export interface Sample {
  readonly requests: number;
  readonly perSecond: number;
  readonly cpu: number;
  /** Its two parts. */
  readonly user: number;
  readonly system: number;
  /** Milliseconds; infinite when a connection had no answer before the load ended. */
  readonly p99: number;
  readonly memory: number;
  readonly errors: number;
}

/** Medians of what was measured of one server in one scenario; requests and errors are all of them. */
export interface Figures extends Sample {
  readonly scenario: string;
  readonly server: string;
}

export interface Report {
  readonly title: string;
  readonly introduction: string;
  readonly figures: readonly Figures[];
  readonly notes: readonly string[];
}

export function toFigures(scenario: string, server: string, samples: readonly Sample[]): Figures {
  const all = (pick: (sample: Sample) => number) => samples.map(pick);
  return {
    scenario,
    server,
    requests: total(all((sample) => sample.requests)),
    perSecond: median(all((sample) => sample.perSecond)),
    cpu: median(all((sample) => sample.cpu)),
    user: median(all((sample) => sample.user)),
    system: median(all((sample) => sample.system)),
    p99: median(all((sample) => sample.p99)),
    memory: median(all((sample) => sample.memory)),
    errors: total(all((sample) => sample.errors)),
  };
}

/** The rows of one scenario; the first server is compared with each. */
export function printFigures(figures: readonly Figures[]): void {
  for (const line of toRows(figures)) console.log(line);
}

export async function writeReport(file: string, report: Report): Promise<void> {
  const { title, introduction, figures, notes } = report;
  const scenarios = Map.groupBy(figures, ({ scenario }) => scenario);
  const lines = [
    `# ${title}`,
    "",
    describeRun(),
    "",
    introduction,
    "",
    ...toTable(
      ["scenario", "server", "CPU", "x", "requests/s", "p99", "memory"],
      [...scenarios.values()].flatMap(toRows),
    ),
    "",
    ...notes.flatMap((note) => [note, ""]),
  ];
  await Bun.write(file, lines.join("\n"));
}

/** Where and with what a run was made. */
export function describeRun(): string {
  const flags = process.argv.slice(2);
  const command = ["npm run bench", ...(flags.length > 0 ? ["--", ...flags] : [])].join(" ");
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}`;
  const versions = `Bun ${Bun.version}, Node ${nodeVersion()}, ${loadTool}`;
  return `Made by \`${command}\` on ${new Date().toISOString().slice(0, 10)}: ${machine}; ${versions}.`;
}

/** Markdown of a table; `rows` are made by `toRow`. */
export function toTable(head: readonly string[], rows: readonly string[]): string[] {
  return [toRow(head), `|${"---|".repeat(head.length)}`, ...rows];
}

export function toRow(cells: readonly (string | number)[]): string {
  return `| ${cells.join(" | ")} |`;
}

/** As many digits as matter. */
export function toMicros(cpu: number): string {
  return cpu < 100 ? cpu.toFixed(1) : String(Math.round(cpu));
}

function toRows(figures: readonly Figures[]): string[] {
  const [ours] = figures;
  return figures.map((row) =>
    toRow([
      row.scenario,
      row.server,
      `${toMicros(row.cpu)} µs`,
      row === ours || !ours ? "" : toRatio(ours.cpu / row.cpu),
      row.perSecond < 100 ? row.perSecond.toFixed(1) : Math.round(row.perSecond),
      Number.isFinite(row.p99) ? `${row.p99.toFixed(2)} ms` : "longer than the load",
      `${Math.round(row.memory / 2 ** 20)} MiB`,
    ]),
  );
}

function toRatio(ratio: number): string {
  return ratio < 0.1 ? ratio.toPrecision(2) : ratio.toFixed(2);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function total(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

function nodeVersion(): string {
  return Bun.spawnSync(["node", "--version"]).stdout.toString().trim();
}
