// Functions of the C library that the runtime does not offer. On Linux only: elsewhere, their constants differ.

import { dlopen, type FFIFunction } from "bun:ffi";
import { readFileSync } from "node:fs";
import { systemCodeOf } from "./errors-for-log.ts";

/**
 * Functions of the C library of this process, glibc or musl.
 * @returns undefined where they cannot be called: on other systems than Linux, and where Bun has no JIT because memory is limited by `ulimit -v`
 */
export function cFunctions<Types extends Record<string, FFIFunction>>(types: Types) {
  const library = process.platform === "linux" ? loadedLibrary() : undefined;
  if (!library) return undefined;
  try {
    return dlopen(library, types).symbols;
  } catch {
    return undefined;
  }
}

/** The path of the C library. It is absolute, so that no other file of that name is loaded. */
function loadedLibrary(): string | undefined {
  const maps = readFileSync("/proc/self/maps", "utf8");
  return /\/\S*\/(?:libc\.so\.6|libc-[0-9.]+\.so|ld-musl-[^/\s]+\.so\.1)$/m.exec(maps)?.[0];
}

/** Whether a process with this ID runs on this machine. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return systemCodeOf(error) === "EPERM";
  }
}

/** The name of the user ID; the ID itself if it has none, as in a container. Bun's `userInfo` only knows USER. */
export function systemUser(): string {
  const id = String(process.getuid?.());
  try {
    const users = readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .map((line) => line.split(":"));
    return users.find((user) => user[2] === id)?.[0] ?? `uid ${id}`;
  } catch {
    return `uid ${id}`;
  }
}
