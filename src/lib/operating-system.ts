// What we need from the operating system and the runtime doesn't offer. The C library is only called on Linux, because its constants differ elsewhere.

import { dlopen, type FFIFunction } from "bun:ffi";
import { readFileSync } from "node:fs";
import { systemErrorCode } from "./errors-for-log.ts";

/**
 * Loads functions from this process's C library, glibc or musl.
 * @returns undefined if they can't be called: anywhere but on Linux, and if Bun has no JIT because `ulimit -v` limits the memory
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

/** Returns an absolute path, so that no other file with this name gets loaded. */
function loadedLibrary(): string | undefined {
  const maps = readFileSync("/proc/self/maps", "utf8");
  return /\/\S*\/(?:libc\.so\.6|libc-[0-9.]+\.so|ld-musl-[^/\s]+\.so\.1)$/m.exec(maps)?.[0];
}

/** Whether a process with this ID runs on this machine, as any user. */
export function isProcessRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return systemErrorCode(error) === "EPERM";
  }
}

/** Returns this process's user name, or `uid 1000` if it has none, as in a container. Bun's `userInfo` only reads the variable USER. */
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
