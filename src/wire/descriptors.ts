// How many connections the limit of file descriptors allows.

/** File descriptors reserved for other purposes than client connections: the runtime, the database, and connections that are being closed. */
const reserved = 64;

/** Returns the maximum number of open file descriptors (POSIX `RLIMIT_NOFILE`). The runtime has already raised it to the hard limit. */
export function descriptorLimit(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft: number | string } } };
  const limit = userLimits?.open_files?.soft;
  if (limit === "unlimited") return Number.MAX_SAFE_INTEGER;
  return typeof limit === "number" ? limit : 1024;
}

/** Returns the maximum of `--connections` for a limit of file descriptors (64 less), and its default (nine tenths, at most the maximum). */
export function connectionsWithin(descriptors: number): { readonly max: number; readonly byDefault: number } {
  const max = Math.max(1, descriptors - reserved);
  return { max, byDefault: Math.min(max, Math.max(1, Math.floor(descriptors * 0.9))) };
}
