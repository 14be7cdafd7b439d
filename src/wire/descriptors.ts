/** Descriptors for everything that is no client's connection: the runtime's own, the database, connections that are just being closed. */
const reserved = 64;

/** How many file descriptors this process may have open at once (POSIX `RLIMIT_NOFILE`). The runtime has raised it as far as it may. */
export function descriptorLimit(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft: number | string } } };
  const limit = userLimits?.open_files?.soft;
  if (limit === "unlimited") return Number.MAX_SAFE_INTEGER;
  return typeof limit === "number" ? limit : 1024;
}

/** How many connections there may be at most with so many descriptors, and how many there are unless it is set: nine tenths. */
export function connectionsWithin(descriptors: number): { readonly most: number; readonly usual: number } {
  const most = Math.max(1, descriptors - reserved);
  return { most, usual: Math.min(most, Math.max(1, Math.floor(descriptors * 0.9))) };
}
