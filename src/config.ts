// The settings and their defaults. Only this file reads the environment.

import { messageOf } from "./lib/errors-for-log.ts";
import { type IpNetwork, toNetwork } from "./lib/networks.ts";
import { systemUser } from "./lib/operating-system.ts";
import { escapeControls, nearest } from "./lib/text.ts";
import { Refusal } from "./model/errors.ts";
import { readHostname } from "./model/hostname.ts";

export interface Config {
  /** `sqlite:<file>` or `postgres://user@host/database`. */
  readonly database: string;
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly workers: number;
  readonly demo: boolean;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Whether the last entry of `X-Forwarded-For` is the client's address. */
  readonly trustProxy: boolean;
  /** Whether the last entry of `X-Forwarded-Host` is the host that the client named. */
  readonly trustForwardedHost: boolean;
  /** Requests per second of a key; 0 for no limit. */
  readonly rate: number;
  /** Requests of a key at once. */
  readonly burst: number;
  /** Bytes for records in memory. */
  readonly memory: number;
  /** Seconds after which a connection without activity is closed. */
  readonly idleTimeout: number;
  /** Limit of client connections per process; undefined for what the file descriptors allow. */
  readonly connections: number | undefined;
  /** Seconds for which a server that is to stop still serves, without being ready. */
  readonly drain: number;
  /** Days after which entries of the journal are deleted; undefined to keep them. */
  readonly journalDays: number | undefined;
  readonly logLevel: string;
  /** Whether every request is logged. */
  readonly accessLog: boolean;
  /** Milliseconds from which on a request is logged as slow; infinite for none. */
  readonly slowMs: number;
  /** Undefined for no admin listener. */
  readonly admin: AdminAddress | undefined;
  /** Hostnames of the admin listener, besides `localhost` and IP addresses. */
  readonly adminHosts: readonly string[];
  /** Networks to which webhooks may be delivered although they are not public. */
  readonly webhookAllow: readonly IpNetwork[];
  /** What this process does: all, or one part for a parent that serves with several processes. */
  readonly role: "server" | "worker" | "admin";
}

export interface AdminAddress {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Whether it is the default, without which a server starts too. */
  readonly isDefault: boolean;
}

/** Settings as text, by the names of their environment variables without `STOREFRONT_`. */
export type ConfigSources = Readonly<Record<string, string | undefined>>;

/** The names of all settings, without `STOREFRONT_`. A parent sets ROLE for its children, and nobody else does. */
const settingNames = [
  "ACCESS_LOG",
  "ADMIN",
  "ADMIN_HOST",
  "BURST",
  "CONNECTIONS",
  "DATABASE",
  "DEMO",
  "DRAIN",
  "HOST",
  "IDLE_TIMEOUT",
  "JOURNAL_DAYS",
  "LOG",
  "MEMORY",
  "PORT",
  "RATE",
  "ROLE",
  "SLOW_MS",
  "TLS_CERT",
  "TLS_KEY",
  "TRUST_FORWARDED_HOST",
  "TRUST_PROXY",
  "WEBHOOK_ALLOW",
  "WORKERS",
] as const;

type SettingName = (typeof settingNames)[number];

const levels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];

/** The settings in the environment. @throws Refusal `bad-request` that names an unknown one, and the setting that was probably meant */
export function environment(): ConfigSources {
  const ours = Object.entries(process.env).flatMap(([variable, value = ""]): [string, string][] => {
    const name = /^STOREFRONT_(.*)$/s.exec(variable)?.[1];
    return name === undefined || injected.test(`${name}=${value}`) ? [] : [[name, value]];
  });
  // The parent of a process has checked them, and may be of another version of the program.
  if (!process.env.STOREFRONT_ROLE) for (const [name] of ours) requireKnown(name);
  return Object.fromEntries(ours.map(([name, value]) => [name, value || undefined]));
}

/**
 * What Kubernetes and links of Docker set in each pod or container for a service whose name is `storefront` or begins with it, without
 * `STOREFRONT_`: `SERVICE_HOST=10.0.0.1`, `PORT=tcp://10.0.0.1:80`, `ADMIN_PORT_8081_TCP_ADDR=10.0.0.1`, `NAME=/web/storefront`.
 */
const injected =
  /^(?:\w+_)?(?:SERVICE_HOST=|SERVICE_PORT(?:_\w+)?=|PORT=(?:tcp|udp|sctp):\/\/|PORT_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?=|NAME=\/|ENV_\w+=)/;

function requireKnown(name: string): void {
  if (isSetting(name)) return;
  const meant = nearest(name, settingNames);
  const hint = meant ? `did you mean STOREFRONT_${meant}?` : "the settings are in `serve --help`";
  throw new Refusal("bad-request", `unknown setting STOREFRONT_${name}: ${hint}`);
}

function isSetting(name: string): name is SettingName {
  return settingNames.some((known) => known === name);
}

/** Validates `settings` and adds the defaults. @throws Refusal `bad-request` that names the first bad setting */
export function readConfig(settings: ConfigSources = {}): Config {
  const cert = settings.TLS_CERT;
  const key = settings.TLS_KEY;
  if (Boolean(cert) !== Boolean(key)) throw new Refusal("bad-request", "--tls-cert and --tls-key must be set together");
  const rate = number(settings, "RATE", 0, 0, 1_000_000);
  const burst = number(settings, "BURST", Math.max(1, rate * 2), 1, 10_000_000);
  if (rate === 0 && settings.BURST !== undefined)
    throw new Refusal("bad-request", `${named("BURST")} has no effect without ${named("RATE")}`);
  const logLevel = oneOf(settings, "LOG", "info", levels);
  return {
    database: settings.DATABASE ?? "sqlite:./data/storefront.db",
    host: settings.HOST ?? "127.0.0.1",
    port: number(settings, "PORT", 8080, 0, 65_535),
    workers: number(settings, "WORKERS", 1, 1, 256),
    demo: flag(settings, "DEMO"),
    tls: cert && key ? { cert, key } : undefined,
    trustProxy: flag(settings, "TRUST_PROXY"),
    trustForwardedHost: flag(settings, "TRUST_FORWARDED_HOST"),
    rate,
    burst,
    memory: number(settings, "MEMORY", 256, 1, 1_048_576) * 1024 * 1024,
    idleTimeout: number(settings, "IDLE_TIMEOUT", 10, 1, 255),
    connections: settings.CONNECTIONS === undefined ? undefined : number(settings, "CONNECTIONS", 0, 1, 1_000_000),
    drain: number(settings, "DRAIN", 0, 0, 3600),
    journalDays: settings.JOURNAL_DAYS === undefined ? undefined : number(settings, "JOURNAL_DAYS", 0, 1, 36_525),
    logLevel,
    accessLog: flag(settings, "ACCESS_LOG") || logLevel === "debug" || logLevel === "trace",
    slowMs: number(settings, "SLOW_MS", 1000, 0, 3_600_000) || Number.POSITIVE_INFINITY,
    admin: readAdminAddress(settings),
    adminHosts: readAdminHosts(settings),
    webhookAllow: readNetworks(settings),
    role: settings.ROLE === "worker" || settings.ROLE === "admin" ? settings.ROLE : "server",
  };
}

/** @throws Refusal `bad-request` for a text that is neither `none` nor a host and a port */
function readAdminAddress({ ADMIN: text }: ConfigSources): AdminAddress | undefined {
  if (text === undefined) return { host: "127.0.0.1", port: 8081, isDefault: true };
  if (text === "none") return undefined;
  const [, host = "", digits = ""] = /^(\[[0-9a-f:.]+\]|[^\s:/@[\]]+):([0-9]{1,5})$/i.exec(text) ?? [];
  const port = Number(digits);
  if (host !== "" && port <= 65_535) return { host: host.replace(/^\[(.*)\]$/, "$1"), port, isDefault: false };
  throw new Refusal(
    "bad-request",
    `${named("ADMIN")} must be \`none\`, or an address and a port such as 127.0.0.1:8081 or [::1]:8081, not "${text}"`,
  );
}

/** The setting that gives this address. */
export function toAdminText({ host, port }: AdminAddress): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Hostnames in their normal form. @throws Refusal `bad-request` */
function readAdminHosts({ ADMIN_HOST: text }: ConfigSources): string[] {
  try {
    return text === undefined ? [] : text.split(",").map(readHostname);
  } catch (error) {
    throw new Refusal("bad-request", `${named("ADMIN_HOST")}: ${messageOf(error)}`, { cause: error });
  }
}

/** @throws Refusal `bad-request` for a text that is not a list of networks */
function readNetworks({ WEBHOOK_ALLOW: text }: ConfigSources): IpNetwork[] {
  return (text?.split(",") ?? []).map((part) => {
    const network = toNetwork(part.trim());
    if (network) return network;
    throw new Refusal(
      "bad-request",
      `${named("WEBHOOK_ALLOW")} must be networks such as 10.0.0.0/8 or fd00::/8, separated by commas, not "${text}"`,
    );
  });
}

/**
 * The name of the person or program that runs a command, for the journal: `given`, or the name of the user.
 * @throws Refusal `bad-request` when `given` is not 1 to 64 characters without controls
 */
export function operatorName(given: string | undefined): string {
  if (given !== undefined) {
    if (isOperatorName(given)) return given;
    throw new Refusal("bad-request", "--as must be a name of 1 to 64 characters without controls");
  }
  const { SUDO_USER, USER } = process.env;
  return [SUDO_USER, USER, systemUser()].find(isOperatorName) ?? "unknown";
}

/** A name of 1 to 64 characters that no terminal or log can misread. */
function isOperatorName(name = ""): name is string {
  const length = [...name].length;
  return length >= 1 && length <= 64 && escapeControls(name) === name && !/[\t\n]/.test(name);
}

/** The environment of a child process with the same settings. */
export function toEnvironment(settings: ConfigSources): Record<string, string> {
  const given = Object.entries(settings).map(([name, value]) => [`STOREFRONT_${name}`, value] as const);
  const all = [...Object.entries(process.env), ...given];
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function number(settings: ConfigSources, name: SettingName, fallback: number, min: number, max: number): number {
  const text = settings[name];
  if (text === undefined) return fallback;
  const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new Refusal("bad-request", `${named(name)} must be a whole number from ${min} to ${max}, not "${text}"`);
}

function flag(settings: ConfigSources, name: SettingName): boolean {
  const text = (settings[name] ?? "").toLowerCase();
  if (["1", "true", "yes", "on"].includes(text)) return true;
  if (["", "0", "false", "no", "off"].includes(text)) return false;
  throw new Refusal("bad-request", `${named(name)} must be yes or no, not "${settings[name]}"`);
}

function oneOf(settings: ConfigSources, name: SettingName, fallback: string, words: readonly string[]): string {
  const text = settings[name] ?? fallback;
  if (words.includes(text)) return text;
  throw new Refusal("bad-request", `${named(name)} must be one of ${words.join(", ")}, not "${text}"`);
}

function named(name: SettingName): string {
  return `--${name.toLowerCase().replaceAll("_", "-")} (STOREFRONT_${name})`;
}
