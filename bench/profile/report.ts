import { describeRun, type Figures, toMicros, toRow, toTable } from "../report.ts";
import type { CpuProfile } from "./cpu-profile.ts";
import type { Share } from "./perf.ts";

/** CPU time per request, in microseconds. */
export interface Thread {
  readonly name: string;
  readonly user: number;
  readonly system: number;
}

/** The results of one load. */
export interface Section {
  readonly name: string;
  /** The figures of this server and of a bare server. */
  readonly figures: readonly Figures[];
  readonly threads: readonly Thread[];
  /** Undefined if perf is not available. */
  readonly shares: readonly Share[] | undefined;
  readonly profile: CpuProfile;
}

const kinds = ["system", "Bun", "JavaScript, compiled", "C library"] as const;

export function printSection(section: Section): void {
  console.log(toLines(section).join("\n"));
}

export async function writeProfile(file: string, sections: readonly Section[]): Promise<void> {
  const lines = [
    "# Where the time goes",
    "",
    describeRun(),
    "",
    "CPU time is in microseconds per request. The share of a function is its part of the samples taken while JavaScript ran, calls into Bun",
    "included. The samples leave out other threads, and Bun's own work around our calls (parsing, sockets). In the table of threads, the",
    "column Bun includes its interpreter, where JavaScript is not compiled.",
    "",
    ...sections.flatMap(toLines),
  ];
  await Bun.write(file, lines.join("\n"));
}

function toLines({ name, figures, threads, shares, profile }: Section): string[] {
  return [
    `## ${name}`,
    "",
    ...toTable(["server", "CPU", "in the program", "in the system", "requests/s"], figures.map(toServerRow)),
    "",
    ...toThreadTable(threads, shares),
    "",
    ...toTable(
      ["area", "its own code", "Bun, called by it"],
      profile.areas
        .filter(({ own, called }) => own + called >= 0.005)
        .map((area) => toRow([area.name, toPercent(area.own), toPercent(area.called)])),
    ),
    "",
    ...toTable(
      [`function (${profile.samples} samples)`, "share"],
      profile.functions.slice(0, 20).map((hot) => toRow([hot.name, toPercent(hot.share)])),
    ),
    "",
  ];
}

function toServerRow({ server, cpu, user, system, perSecond }: Figures): string {
  return toRow([server, toMicros(cpu), toMicros(user), toMicros(system), Math.round(perSecond)]);
}

/** Returns a table with the CPU time of each thread. If perf is available, splits the time by kind of code. */
function toThreadTable(threads: readonly Thread[], shares: readonly Share[] | undefined): string[] {
  const total = threads.reduce((sum, { user, system }) => sum + user + system, 0);
  const busy = threads.filter(({ user, system }) => user + system >= total / 200);
  if (!shares) {
    const rows = busy.map(({ name, user, system }) => toRow([name, toMicros(user), toMicros(system)]));
    return toTable(["thread", "in the program", "in the system"], rows);
  }
  const timeOf = (thread: string, kind: Share["kind"]) =>
    shares.filter((row) => row.thread === thread && row.kind === kind).reduce((sum, { share }) => sum + share, 0) *
    total;
  return toTable(
    ["thread", ...kinds],
    busy.map(({ name }) => toRow([name, ...kinds.map((kind) => toMicros(timeOf(name, kind)))])),
  );
}

function toPercent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
