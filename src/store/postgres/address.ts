// The address of a PostgreSQL database: its hosts, and the settings of the connection.

import { readFileSync } from "node:fs";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { findNearest } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";

export interface Host {
  readonly host: string;
  readonly port: number;
}

export interface DatabaseAddress {
  readonly hosts: readonly Host[];
  /** Undefined to use PGDATABASE, as other PostgreSQL clients do. The same holds for `user` (PGUSER) and `password` (PGPASSWORD). */
  readonly database: string | undefined;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly tls: Tls;
  /** Maximum connections to one host. */
  readonly poolSize: number;
  /** Time limit of one call, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether statements are prepared. A pooler that gives each transaction another connection does not support prepared statements. */
  readonly prepare: boolean;
}

/** The `ssl` option of postgres.js. */
type Tls = false | "prefer" | "require" | TlsOptions;

interface TlsOptions {
  readonly rejectUnauthorized: true;
  readonly ca?: string;
  /** Present when the certificate may have any name. */
  readonly checkServerIdentity?: () => undefined;
}

const parameters = ["sslmode", "sslrootcert", "pool_size", "statement_timeout", "prepare"];

/**
 * Parses `postgres://user:password@host1:5432,host2/database?sslmode=require&pool_size=10&statement_timeout=2000&prepare=no`.
 * @throws ProblemError `bad-request` that names the invalid part
 */
export function parseAddress(url: string): DatabaseAddress {
  const parts = /^postgres(?:ql)?:\/\/(?:([^@/?]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/.exec(url);
  if (!parts) throw addressError("write postgres://user@host/database");
  const [, login = "", hosts = "", database = "", query = ""] = parts;
  const settings = new URLSearchParams(query);
  for (const name of settings.keys()) if (!parameters.includes(name)) throw unknownParameterError(name);
  const [user = "", ...password] = login.split(":");
  return {
    hosts: (hosts || "localhost").split(",").map(parseHost),
    database: decoded(database),
    user: decoded(user),
    password: decoded(password.join(":")),
    tls: parseTls(settings.get("sslmode") ?? "prefer", settings.get("sslrootcert")),
    poolSize: number(settings, "pool_size", 10, 2, 1000),
    timeoutMs: number(settings, "statement_timeout", 2000, 100, 600_000),
    prepare: flag(settings, "prepare"),
  };
}

/** Formats host and port for messages. */
export function nameOf({ host, port }: Host): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function parseHost(text: string): Host {
  const parts = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::([0-9]{1,5}))?$/.exec(decoded(text) ?? "");
  const port = Number(parts?.[2] ?? 5432);
  if (!parts || port < 1 || port > 65_535) throw addressError(`"${text.slice(0, 100)}" is not a host`);
  return { host: (parts[1] as string).replace(/^\[|\]$/g, ""), port };
}

function parseTls(mode: string, rootCertificate: string | null): Tls {
  const ca = rootCertificate === null ? {} : { ca: readCertificate(rootCertificate) };
  switch (mode) {
    case "disable":
      return false;
    case "allow":
    case "prefer":
      return "prefer";
    case "require":
      return rootCertificate === null ? "require" : withoutName(ca);
    case "verify-ca":
      return withoutName(ca);
    case "verify-full":
      return { rejectUnauthorized: true, ...ca };
    default:
      throw addressError(
        `sslmode must be disable, prefer, require, verify-ca or verify-full, not "${mode.slice(0, 40)}"`,
      );
  }
}

function withoutName(ca: { ca?: string }): TlsOptions {
  return { rejectUnauthorized: true, checkServerIdentity: () => undefined, ...ca };
}

function readCertificate(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw addressError(`sslrootcert cannot be read: ${errorMessage(error)}`);
  }
}

function number(settings: URLSearchParams, name: string, fallback: number, min: number, max: number): number {
  const text = settings.get(name);
  if (text === null) return fallback;
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw addressError(`${name} must be a whole number from ${min} to ${max}, not "${text.slice(0, 40)}"`);
}

function flag(settings: URLSearchParams, name: string): boolean {
  const text = settings.get(name) ?? "yes";
  if (["yes", "true", "1"].includes(text)) return true;
  if (["no", "false", "0"].includes(text)) return false;
  throw addressError(`${name} must be yes or no, not "${text.slice(0, 40)}"`);
}

function decoded(text: string): string | undefined {
  try {
    return text === "" ? undefined : decodeURIComponent(text);
  } catch {
    throw addressError("write a percent sign as %25");
  }
}

function unknownParameterError(name: string): ProblemError {
  const meant = findNearest(name, parameters);
  return addressError(
    `unknown parameter "${name.slice(0, 40)}"; ${meant ? `did you mean ${meant}?` : `the parameters are ${parameters.join(", ")}`}`,
  );
}

function addressError(detail: string): ProblemError {
  return new ProblemError("bad-request", `invalid database address: ${detail}`);
}
