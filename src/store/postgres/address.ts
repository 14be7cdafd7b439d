// The address of a PostgreSQL database: its hosts and connection settings.

import { readFileSync } from "node:fs";
import { errorMessage } from "../../lib/errors-for-log.ts";
import { findNearest } from "../../lib/text.ts";
import { ProblemError } from "../../model/errors.ts";

export interface Host {
  /** A name, an IP address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
}

export interface DatabaseAddress {
  readonly hosts: readonly Host[];
  /** If undefined, PGDATABASE applies, as in other PostgreSQL clients. Likewise for `user` (PGUSER) and `password` (PGPASSWORD). */
  readonly database: string | undefined;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly tls: Tls;
  /** Maximum connections per host. */
  readonly poolSize: number;
  /** Time limit per call, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether to prepare statements. A pooler that uses a different connection for each transaction doesn't support that. */
  readonly prepare: boolean;
  /** Startup options that tell a hosting service which of its databases to use. */
  readonly options: string | undefined;
}

/** The `ssl` option of postgres.js. */
type Tls = false | "prefer" | "require" | TlsOptions;

interface TlsOptions {
  readonly rejectUnauthorized: true;
  readonly ca?: string;
  /** Present if any name in the certificate will do. */
  readonly checkServerIdentity?: () => undefined;
}

const parameters = ["sslmode", "sslrootcert", "pool_size", "statement_timeout", "prepare"];

/** Values of other parameters that can stay in an address, because we do what they ask anyway. */
const accepted: ReadonlyMap<string, RegExp> = new Map(
  Object.entries({
    host: /./,
    port: /^[0-9]{1,5}$/,
    // Services with many databases behind one host need to know which one.
    options: /^(--cluster|endpoint|project|reference)=[\w.-]+$/,
    pgbouncer: /^(true|false)$/,
    schema: /^public$/,
    target_session_attrs: /^(read-write|primary)$/,
    channel_binding: /^(prefer|disable)$/,
  }),
);

const [ofRole, certificates, beforeHost] = [
  "set it in the database instead, as in `alter role storefront set search_path = shop`",
  "remove it, because client certificates aren't supported, and let the user log in with a password",
  "write it before the host, as in postgres://user:password@host/database",
];

/** What to do about other clients' parameters. */
const remedies: ReadonlyMap<string, string> = new Map(
  Object.entries({
    options: ofRole,
    schema: ofRole,
    pgbouncer: "write prepare=no",
    target_session_attrs: "remove it, because the server always uses the primary",
    channel_binding:
      "remove it, because the driver doesn't support it. sslmode=verify-full also makes sure that it's your database",
    connection_limit: "write pool_size instead (2 to 1000)",
    connect_timeout: "remove it, because statement_timeout (in milliseconds) also limits connecting",
    pool_timeout: "remove it, because statement_timeout (in milliseconds) also limits waiting for a connection",
    ssl: "write sslmode=require, or sslmode=disable",
    sslaccept: "write sslmode=verify-full for `strict`, otherwise sslmode=require",
    sslcert: certificates,
    sslkey: certificates,
    user: beforeHost,
    password: beforeHost,
    port: "write it after the host, as in postgres://host:5432/database",
    dbname: "write it after the host, as in postgres://host/database",
  }),
);

/**
 * Parses `postgres://user:password@host1:5432,host2/database?sslmode=require&pool_size=10&statement_timeout=2000&prepare=no`.
 * @throws ProblemError `bad-request` that names the invalid part, but never part of a password
 */
export function parseAddress(url: string): DatabaseAddress {
  const parts = /^postgres(?:ql)?:\/\/([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/is.exec(url);
  if (!parts) throw addressError("write postgres://user@host/database");
  const [, authority = "", database = "", query = ""] = parts;
  // Unlike in a form, a plus sign isn't a space.
  const settings = new URLSearchParams(query.replaceAll("+", "%2B"));
  requireEscapes(authority, database, authority.includes("@") ? [...settings.keys()] : [query]);
  const faults = [...new Set(settings.keys())].flatMap((name) => parameterFault(name, settings.getAll(name)) ?? []);
  if (faults.length > 0) throw addressError(faults.join(". "));
  const at = authority.lastIndexOf("@");
  const [user = "", ...password] = authority.slice(0, Math.max(at, 0)).split(":");
  const hosts = settings.get("host") ?? (authority.slice(at + 1) || "localhost");
  return {
    hosts: hosts.split(",").map((host) => parseHost(host, settings.get("port") ?? "5432")),
    database: decoded(database),
    user: decoded(user),
    password: decoded(password.join(":")),
    tls: parseTls(settings.get("sslmode") ?? "prefer", settings.get("sslrootcert")),
    poolSize: number(settings, "pool_size", 10, 2, 1000),
    timeoutMs: number(settings, "statement_timeout", 2000, 100, 600_000),
    prepare: flag(settings, "prepare") && settings.get("pgbouncer") !== "true",
    options: settings.get("options") ?? undefined,
  };
}

/** Formats the host and port for messages. */
export function nameOf({ host, port }: Host): string {
  if (isSocket(host)) return host;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether it's the folder of a Unix socket. */
export function isSocket(host: string): boolean {
  return host.startsWith("/");
}

/**
 * Checks that a `/` or `?` in a password doesn't cut off the part before `@`, and that the password isn't a placeholder.
 * @param authority what comes before the first `/` or `?`
 * @param others parts of the query that can only contain `@` if the authority was cut off
 */
function requireEscapes(authority: string, database: string, others: readonly string[]): void {
  if ([database, ...others].some((part) => part.includes("@")))
    throw addressError("in a user, password or database, write `/` as %2F, `?` as %3F, `@` as %40 and `%` as %25");
  if (/:(\[.*\]|<.*>|\$?\{.*\}|\*{4,})@/.test(authority))
    throw addressError(
      "replace the placeholder with the password. If that is the password, write `[` as %5B, and so on",
    );
  if (database.includes("/"))
    throw addressError("in a database name, write `/` as %2F. The folder of a Unix socket goes into `?host=`");
}

/** @param text an item of `host`, or of the part after `@`, where a socket is escaped */
function parseHost(text: string, defaultPort: string): Host {
  const parts = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::([0-9]{1,5}))?$/.exec(text);
  const host = isSocket(text) ? text : (decoded(parts?.[1] ?? "")?.replace(/^\[|\]$/g, "") ?? "");
  const port = Number(parts?.[2] ?? defaultPort);
  if (host !== "" && port >= 1 && port <= 65_535) return { host, port };
  // If the `@` is missing, what follows the colon may be a password.
  const shown = text.slice(0, 100).replace(/:.*/s, ":...");
  throw addressError(`"${shown}" isn't a host, or its port isn't from 1 to 65535; IPv6 addresses need brackets`);
}

function parseTls(mode: string, rootCertificate: string | null): Tls {
  const ca = rootCertificate === null || rootCertificate === "system" ? {} : { ca: readCertificate(rootCertificate) };
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
    throw addressError(`can't read sslrootcert: ${errorMessage(error)}`);
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
    throw addressError("write `%` as %25");
  }
}

/** Returns what's wrong with a parameter, if anything. */
function parameterFault(name: string, [value = "", ...more]: readonly string[]): string | undefined {
  const shown = name.slice(0, 40);
  if (more.length > 0) return `"${shown}" appears ${more.length + 1} times`;
  if (parameters.includes(name)) return undefined;
  if (accepted.get(name)?.test(value)) return undefined;
  const remedy = remedies.get(name);
  if (remedy) return `${name}: ${remedy}`;
  const meant = findNearest(name, parameters);
  return `unknown parameter "${shown}"; ${meant ? `did you mean ${meant}?` : `remove it, or use one of ${parameters.join(", ")}`}`;
}

function addressError(detail: string): ProblemError {
  return new ProblemError("bad-request", `invalid database address: ${detail}`);
}
