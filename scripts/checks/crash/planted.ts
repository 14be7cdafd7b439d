// Faults that the check must find. Each is planted in a copy of the source with one change.

import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface PlantedFault {
  /** Part of the name of the stories and scenarios that find it. */
  readonly story: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export const plantedFaults: Readonly<Record<string, PlantedFault>> = {
  "no-sync-before-acknowledge": {
    story: "load",
    file: "src/store/sqlite/database.ts",
    from: 'database.run("pragma synchronous = full");\n    database.run("pragma foreign_keys',
    to: 'database.run("pragma synchronous = off");\n    database.run("pragma foreign_keys',
  },
  "sync-only-at-checkpoints": {
    story: "load",
    file: "src/store/sqlite/database.ts",
    from: 'database.run("pragma synchronous = full");\n    database.run("pragma foreign_keys',
    to: 'database.run("pragma synchronous = normal");\n    database.run("pragma foreign_keys',
  },
  "no-folder-sync-at-first-start": {
    story: "first-start",
    file: "src/store/sqlite/database.ts",
    from: "    flushFolders(dirname(path));\n",
    to: "",
  },
  "rename-without-sync": {
    story: "backup",
    file: "src/operator/files/atomic-file.ts",
    from: "    await flushToDisk(dirname(target));\n",
    to: "",
  },
  "backup-complete-before-its-sync": {
    story: "backup",
    file: "src/operator/files/atomic-file.ts",
    from: "    await flushToDisk(part);\n",
    to: "",
  },
  "oldest-backup-deleted-first": {
    story: "backup",
    file: "src/commands/backup.ts",
    from: "      const { rows, timeNotSavedReason }",
    to: "      if (options.keep === 1) deleteOldBackups(target, 1, file);\n      const { rows, timeNotSavedReason }",
  },
  "atomic-import-in-several-transactions": {
    story: "import --atomic",
    file: "src/store/sqlite/writer.ts",
    from: "      this.#requireTransaction();\n      return runStatements(",
    to: '      this.#database.run("commit");\n      this.#database.run("begin immediate");\n      return runStatements(',
  },
  "failed-commit-reported-as-done": {
    story: "import --atomic",
    file: "src/store/sqlite/writer.ts",
    from: '    this.#database.run("commit");\n    return this.#shared.result;',
    to: '    try { this.#database.run("commit"); } catch {}\n    return this.#shared.result;',
  },
  "log-not-settled-after-a-kill": {
    story: "failing-sync of 400, then 50 after a kill",
    file: "src/store/sqlite/engine.ts",
    from: "  settleLog(path, busyTimeoutMs);\n",
    to: "",
  },
  "log-not-written-again": {
    story: "failing-sync of 400, then 1 after a kill",
    file: "src/store/sqlite/database.ts",
    from: "    if (logSize(path) > 0) rewriteFile(logPath(path));\n",
    to: "",
  },
};

/** Not a fault, but a program whose SQLite gets at most CRASH_HEAP_BYTES of memory. */
export const heapLimit: PlantedFault = {
  story: "",
  file: "src/store/sqlite/database.ts",
  from: "    database.run(`pragma busy_timeout",
  to: '    database.run("pragma hard_heap_limit = " + (process.env.CRASH_HEAP_BYTES ?? 0));\n    database.run(`pragma busy_timeout',
};

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Copies the program to `folder` with one change. Returns the path of its src/main.ts. @throws Error if the source lacks the text to change */
export function plantFault({ file, from, to }: PlantedFault, folder: string): string {
  for (const part of ["src", "bin", "docs", "package.json"])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  for (const link of ["node_modules", "dist"]) symlinkSync(join(root, link), join(folder, link));
  const target = join(folder, file);
  const parts = readFileSync(target, "utf8").split(from);
  if (parts.length !== 2) throw new Error(`${file} has the text to change ${parts.length - 1} times`);
  writeFileSync(target, parts.join(to));
  return join(folder, "src/main.ts");
}
