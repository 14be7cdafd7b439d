// What can be set, its defaults, and the only place that reads the environment.

import { Refusal } from "./model/errors.ts";

export interface Config {
  /** `sqlite:<file>` or `postgres://user@host/database`. */
  readonly database: string;
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly workers: number;
  readonly demo: boolean;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Whether `X-Forwarded-For` tells the client's address. */
  readonly trustProxy: boolean;
  /** Whether `X-Forwarded-Host` tells the host that the client named. */
  readonly trustForwardedHost: boolean;
  /** Requests per second and key, and how many at once; 0 for no limit. */
  readonly rate: number;
  readonly burst: number;
  /** Bytes of records to keep in memory. */
  readonly memory: number;
  /** Seconds after which a connection that sends nothing is closed. */
  readonly idleTimeout: number;
  /** Most connections of clients at once, per process; undefined for what the file descriptors allow. */
  readonly connections: number | undefined;
  readonly logLevel: string;
  /** Set by the parent of several workers. */
  readonly isWorker: boolean;
}

/** Settings as text, by the names of their environment variables without `STOREFRONT_`. */
export type ConfigSources = Readonly<Record<string, string | undefined>>;

const levels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];

/** The settings in the environment. */
export function environment(): ConfigSources {
  const ours = Object.entries(process.env).filter(([name, value]) => {
    // Kubernetes sets STOREFRONT_PORT=tcp://10.0.0.1:80 in every pod beside a service that is called "storefront".
    return name.startsWith("STOREFRONT_") && !(name === "STOREFRONT_PORT" && value?.startsWith("tcp://"));
  });
  return Object.fromEntries(ours.map(([name, value]) => [name.slice("STOREFRONT_".length), value || undefined]));
}

/** The configuration that `settings` make. @throws Refusal `bad-request` that names the first bad setting */
export function readConfig(settings: ConfigSources = {}): Config {
  const cert = settings.TLS_CERT;
  const key = settings.TLS_KEY;
  if (Boolean(cert) !== Boolean(key)) throw new Refusal("bad-request", "--tls-cert and --tls-key go together");
  const rate = number(settings, "RATE", 0, 0, 1_000_000);
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
    burst: number(settings, "BURST", Math.max(1, rate * 2), 1, 10_000_000),
    memory: number(settings, "MEMORY", 256, 1, 1_048_576) * 1024 * 1024,
    idleTimeout: number(settings, "IDLE_TIMEOUT", 10, 1, 255),
    connections: settings.CONNECTIONS === undefined ? undefined : number(settings, "CONNECTIONS", 0, 1, 1_000_000),
    logLevel: oneOf(settings, "LOG", "info", levels),
    isWorker: settings.WORKER !== undefined,
  };
}

/** How a child process is told the same configuration. */
export function toEnvironment(settings: ConfigSources): Record<string, string> {
  const given = Object.entries(settings).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const inherited = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    ...Object.fromEntries(inherited),
    ...Object.fromEntries(given.map(([name, value]) => [`STOREFRONT_${name}`, value])),
  };
}

function number(settings: ConfigSources, name: string, fallback: number, least: number, most: number): number {
  const text = settings[name];
  if (text === undefined) return fallback;
  const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new Refusal("bad-request", `${named(name)} must be a whole number from ${least} to ${most}, not "${text}"`);
}

function flag(settings: ConfigSources, name: string): boolean {
  const text = (settings[name] ?? "").toLowerCase();
  if (["1", "true", "yes", "on"].includes(text)) return true;
  if (["", "0", "false", "no", "off"].includes(text)) return false;
  throw new Refusal("bad-request", `${named(name)} must be yes or no, not "${settings[name]}"`);
}

function oneOf(settings: ConfigSources, name: string, fallback: string, words: readonly string[]): string {
  const text = settings[name] ?? fallback;
  if (words.includes(text)) return text;
  throw new Refusal("bad-request", `${named(name)} must be one of ${words.join(", ")}, not "${text}"`);
}

function named(name: string): string {
  return `--${name.toLowerCase().replaceAll("_", "-")} (STOREFRONT_${name})`;
}
