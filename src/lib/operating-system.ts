// Functions of the operating system that the runtime does not offer: calls of the C library, whether a process runs, the name of the user. The
// C library is called on Linux only, because its constants differ elsewhere.

import { dlopen, type FFIFunction } from "bun:ffi";
import { readFileSync } from "node:fs";
import { systemErrorCode } from "./errors-for-log.ts";

/**
 * Loads functions of the C library of this process, glibc or musl.
 * @returns undefined if they cannot be called: on anything but Linux, and if Bun has no JIT because `ulimit -v` limits the memory
 */
export function loadCFunctions<Types extends Record<string, FFIFunction>>(types: Types) {
  const library = process.platform === "linux" ? loadedLibrary() : undefined;
  if (!library) return undefined;
  try {
    return dlopen(library, types).symbols;
  } catch {
    return undefined;
  }
}

/** Returns the path of the C library of this process, or undefined. The path is absolute, so that no other file with this name is loaded. */
function loadedLibrary(): string | undefined {
  const maps = readFileSync("/proc/self/maps", "utf8");
  return /\/\S*\/(?:libc\.so\.6|libc-[0-9.]+\.so|ld-musl-[^/\s]+\.so\.1)$/m.exec(maps)?.[0];
}

/** Whether a process with this ID runs on this machine, also as another user. */
export function isProcessRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return systemErrorCode(error) === "EPERM";
  }
}

/** Returns the name of this process's user; `uid` and the ID if it has no name, as in a container. Bun's `userInfo` reads only the variable USER. */
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
