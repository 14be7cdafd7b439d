// Collects and prints what the checks found.

export interface Report {
  /** Notes whether `what` holds. If it doesn't, `detail` is printed too. */
  check(what: string, holds: boolean, detail?: unknown): void;
  /** Notes that `what` couldn't be checked on this machine. */
  skip(what: string, why: string): void;
}

export interface Summary extends Report {
  /** Prints the summary. @returns the exit status: 1 if a check failed, otherwise 0 */
  finish(): number;
}

export function createReport(print: (line: string) => void = console.log): Summary {
  let checked = 0;
  const faults: string[] = [];
  const skipped: string[] = [];
  return {
    check(what, holds, detail) {
      checked++;
      print(`${holds ? "ok    " : "FAULT "} ${what}`);
      if (holds) return;
      faults.push(what);
      if (detail !== undefined) print(indented(detail));
    },
    skip(what, why) {
      skipped.push(`${what}: ${why}`);
      print(`not checked: ${what}: ${why}`);
    },
    finish() {
      print(`\n${checked} checked, ${faults.length} faults, ${skipped.length} not checked on this machine`);
      for (const fault of faults) print(`  FAULT ${fault}`);
      for (const skip of skipped) print(`  not checked: ${skip}`);
      return faults.length === 0 ? 0 : 1;
    },
  };
}

function indented(detail: unknown): string {
  const text = typeof detail === "string" ? detail : Bun.inspect(detail);
  return text.slice(0, 2000).replaceAll(/^/gm, "       ");
}
