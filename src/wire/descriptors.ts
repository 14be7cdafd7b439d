/** File descriptors for everything but client connections: the runtime, the database, and connections that are being closed. */
const reserved = 64;

/** How many file descriptors this process may have open at once (POSIX `RLIMIT_NOFILE`). The runtime has already raised it to the hard limit. */
export function descriptorLimit(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft: number | string } } };
  const limit = userLimits?.open_files?.soft;
  if (limit === "unlimited") return Number.MAX_SAFE_INTEGER;
  return typeof limit === "number" ? limit : 1024;
}

/** The maximum of `--connections` with this limit of file descriptors, and its default: nine tenths of the limit. */
export function connectionsWithin(descriptors: number): { readonly max: number; readonly byDefault: number } {
  const max = Math.max(1, descriptors - reserved);
  return { max, byDefault: Math.min(max, Math.max(1, Math.floor(descriptors * 0.9))) };
}
