// Functions of the C library that the runtime does not offer. On Linux only: elsewhere, their constants differ.

import { dlopen, type FFIFunction } from "bun:ffi";
import { readFileSync } from "node:fs";

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
