// Turns errors from PostgreSQL and the connection to it into ProblemErrors.

import { errorMessage } from "../../lib/errors-for-log.ts";
import { ProblemError, unavailableError } from "../../model/errors.ts";

/** Returns a database error's SQLSTATE, or the kernel's or postgres.js's code for a broken connection; empty for anything else. */
export function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "";
}

/** Whether the database itself returned the error. If so, it's running and has rolled back the transaction. */
export function isDatabaseError(error: unknown): boolean {
  const code = codeOf((error instanceof ProblemError && error.cause) || error);
  return /^[0-9A-Z]{5}$/.test(code) && !/^(57P|08|E)/.test(code);
}

/** Whether the database ended a statement because it waited too long for a lock or took too long. */
export function isTimeout(error: unknown): boolean {
  return ["55P03", "57014"].includes(codeOf((error instanceof ProblemError && error.cause) || error));
}

/** Whether the transaction conflicted with others, and may succeed if repeated. */
export function isCollision(error: unknown): boolean {
  return codeOf(error) === "40001" || codeOf(error) === "40P01";
}

/** Whether the database doesn't support a feature, syntax or function (SQLSTATE classes 0A and 42). */
export function isUnsupported(error: unknown): boolean {
  return /^(0A|42)[0-9A-Z]{3}$/.test(codeOf(error));
}

/**
 * Turns an error caused by the database, the network or an administrator into a ProblemError `unavailable`. Returns any other error as it is, because
 * it's a bug of ours.
 */
export function fromPostgres(error: unknown): unknown {
  if (error instanceof ProblemError) return error;
  const code = codeOf(error);
  const known = explanations[code];
  if (known) return unavailableError(`${known}: ${errorMessage(error)}`, error);
  if (outside.test(code)) return unavailableError(`the database can't be used: ${errorMessage(error)}`, error);
  return error;
}

export function unresponsiveError(timeoutMs: number): ProblemError {
  return unavailableError(`the database did not respond within ${timeoutMs} ms`);
}

export function unknownOutcomeError(error: unknown): ProblemError {
  return unavailableError(`${errorMessage(fromPostgres(error))}; the write may have gone through anyway`, error);
}

/** Why prepared statements fail, and what to do about it. */
export const unpreparedReason =
  "prepared statements don't work through this pooler, because each transaction may get a different session. Add `prepare=no` to the database address, after `?` or `&`; or set `max_prepared_statements` in PgBouncer 1.21 or newer";

const explanations: Record<string, string> = {
  "28P01": "the database rejected this user or password",
  "28000": "the database rejected this user",
  "3D000": "there's no such database on the server; create it first (createdb)",
  "42501": "the database user isn't allowed to do this; it must own the database or its schema",
  "25006": "the database is read-only",
  "53100": "the database's disk is full",
  "53300": "the database won't accept more connections; lower pool_size or raise its max_connections",
  "26000": unpreparedReason,
  "42P05": unpreparedReason,
};

// SQLSTATE classes (https://www.postgresql.org/docs/current/errcodes-appendix.html): 08 connection, 40 rollback, 53 resources, 55 object not in
// prerequisite state, 57 operator intervention, 58 system error, XX internal error. The other codes are from sockets and postgres.js.
const outside =
  /^(08|40|53|55|57|58|XX)[0-9A-Z]{3}$|^25P03$|^(E[A-Z]+|CONNECT_TIMEOUT|CONNECTION_[A-Z]+|ERR_[A-Z_]+|SASL_[A-Z_]+|[A-Z_]*CERT[A-Z_]*)$/;
