// Reads the settings and their defaults. No other file reads the environment, so this one also finds out who runs a command (`operatorName`).

import { errorMessage } from "./lib/errors-for-log.ts";
import { type IpNetwork, isLoopback, toNetwork, toUrlHost } from "./lib/networks.ts";
import { systemUser } from "./lib/operating-system.ts";
import { escapeControls, findNearest } from "./lib/text.ts";
import { ProblemError } from "./model/errors.ts";
import { hostnameOf, parseHostname } from "./model/hostname.ts";
import { ignorableName, isMeaningful } from "./model/parameters.ts";
import { parseRoleMappings, type SingleSignOnSettings } from "./model/single-sign-on.ts";

export interface Config {
  /** `sqlite:<file>` or `postgres://user@host/database`. */
  readonly database: string;
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Processes that serve the public port, from 1 to 256. */
  readonly workers: number;
  /** Whether to create the site `demo` with sample records if there are no sites. */
  readonly demo: boolean;
  /** Paths of the certificate and its private key; undefined for HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Whether the last entry of `X-Forwarded-For` is the client's address. */
  readonly trustProxy: boolean;
  /** Whether the last entry of `X-Forwarded-Host` is the host that the client sent. */
  readonly trustForwardedHost: boolean;
  /** Default rate limit of a key, in requests per second; 0 for none. */
  readonly rate: number;
  /** Requests a key can send in one burst before `rate` kicks in. */
  readonly burst: number;
  /** Memory budget for snapshots, in bytes. */
  readonly memory: number;
  /** Seconds before an idle connection is closed. */
  readonly idleTimeout: number;
  /** Client connections per process; undefined for a default based on the limit of file descriptors. */
  readonly connections: number | undefined;
  /** Seconds to keep serving after being told to stop, while `/readyz` says that the server isn't ready. */
  readonly drain: number;
  /** Days after which journal entries are pruned; undefined to keep them all. */
  readonly journalDays: number | undefined;
  readonly logLevel: string;
  /** Whether every request is logged. */
  readonly accessLog: boolean;
  /** Milliseconds from which a request is logged as slow; `Infinity` for never. */
  readonly slowMs: number;
  /** Whether sites in memory are compared with the database in the background. */
  readonly verify: boolean;
  /** Undefined for no admin listener. */
  readonly admin: AdminAddress | undefined;
  /** Hostnames of the admin listener, besides `localhost` and IP addresses. */
  readonly adminHosts: readonly string[];
  /** The console's origin, as browsers reach it; undefined if that isn't known. */
  readonly adminUrl: string | undefined;
  /** Undefined if operators only sign in with links. */
  readonly singleSignOn: SingleSignOnSettings | undefined;
  /** Whether ordinary sign-in links work. Break-glass links always do. */
  readonly signInLinks: boolean;
  /** Networks that webhooks can reach besides public ones. */
  readonly webhookAllow: readonly IpNetwork[];
  /** How clients can reach the operator: a `mailto:` or `https:` URL; undefined if that isn't public. */
  readonly contact: string | undefined;
  /** Unknown query parameters to ignore. */
  readonly ignoredParameters: readonly string[];
  /** Whether the public listener serves agents at `/mcp`. */
  readonly mcp: boolean;
  /** `server` does everything; `worker` and `admin` do one part for a parent that runs several processes. */
  readonly role: "server" | "worker" | "admin";
}

export interface AdminAddress {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Whether this is the default address. If that's in use, the server starts without the admin listener. */
  readonly isDefault: boolean;
}

/** Settings as text, by the names of their environment variables without `STOREFRONT_`. */
export type ConfigSources = Readonly<Record<string, string | undefined>>;

/** Without `STOREFRONT_`. Only the main process sets ROLE, for its children. */
const settingNames = [
  "ACCESS_LOG",
  "ADMIN",
  "ADMIN_HOST",
  "ADMIN_URL",
  "BURST",
  "CONNECTIONS",
  "CONTACT",
  "DATABASE",
  "DEMO",
  "DRAIN",
  "HOST",
  "IDLE_TIMEOUT",
  "IGNORE_PARAMETERS",
  "JOURNAL_DAYS",
  "LOG",
  "MCP",
  "MEMORY",
  "OIDC_CLIENT_ID",
  "OIDC_ISSUER",
  "OIDC_ROLE",
  "OIDC_SECRET_FILE",
  "OIDC_SESSION",
  "PORT",
  "RATE",
  "ROLE",
  "SIGN_IN_LINKS",
  "SLOW_MS",
  "TLS_CERT",
  "TLS_KEY",
  "TRUST_FORWARDED_HOST",
  "TRUST_PROXY",
  "VERIFY",
  "WEBHOOK_ALLOW",
  "WORKERS",
] as const;

type SettingName = (typeof settingNames)[number];

const levels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];

/** @throws ProblemError `bad-request` about an unknown setting, with a suggestion */
export function environment(): ConfigSources {
  const ours = Object.entries(process.env).flatMap(([variable, value = ""]): [string, string][] => {
    const name = /^STOREFRONT_(.*)$/s.exec(variable)?.[1];
    return name === undefined || injected.test(`${name}=${value}`) ? [] : [[name, value]];
  });
  // Children don't check the names. Their parent has, and it may be another version of the program.
  if (!process.env.STOREFRONT_ROLE) for (const [name] of ours) requireKnown(name);
  const given = ours.filter(([, value]) => value !== "");
  // Hosting platforms set PORT to where a server should listen. If it isn't a number, it's meant for another program.
  const { PORT = "" } = process.env;
  return Object.fromEntries(/^[0-9]+$/.test(PORT) ? [["PORT", PORT], ...given] : given);
}

/**
 * Matches variables that Kubernetes and Docker links set for a service called `storefront`, or with a name that starts with it. Without `STOREFRONT_`,
 * they look like `SERVICE_HOST=10.0.0.1`, `PORT=tcp://10.0.0.1:80`, `ADMIN_PORT_8081_TCP_ADDR=10.0.0.1` or `NAME=/web/storefront`.
 */
const injected =
  /^(?:\w+_)?(?:SERVICE_HOST=|SERVICE_PORT(?:_\w+)?=|PORT=(?:tcp|udp|sctp):\/\/|PORT_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?=|NAME=\/|ENV_\w+=)/;

function requireKnown(name: string): void {
  if (isSetting(name)) return;
  const meant = findNearest(name, settingNames);
  const hint = meant ? `did you mean STOREFRONT_${meant}?` : "see `serve --help`";
  throw new ProblemError("bad-request", `unknown setting STOREFRONT_${name}: ${hint}`);
}

function isSetting(name: string): name is SettingName {
  return settingNames.some((known) => known === name);
}

/** Validates `settings` and adds the defaults. @throws ProblemError `bad-request` about the first invalid setting */
export function readConfig(settings: ConfigSources = {}): Config {
  const cert = settings.TLS_CERT;
  const key = settings.TLS_KEY;
  if (Boolean(cert) !== Boolean(key))
    throw new ProblemError("bad-request", "--tls-cert and --tls-key must be set together");
  const rate = number(settings, "RATE", 0, 0, 1_000_000);
  const burst = number(settings, "BURST", Math.max(1, rate * 2), 1, 10_000_000);
  if (rate === 0 && settings.BURST !== undefined)
    throw new ProblemError("bad-request", `${named("BURST")} only works with ${named("RATE")}; set both`);
  const signInLinks = oneOf(settings, "SIGN_IN_LINKS", "all", ["all", "none"]) !== "none";
  if (!signInLinks && settings.OIDC_ISSUER === undefined)
    throw new ProblemError("bad-request", `nobody could sign in without links; set ${named("OIDC_ISSUER")} too`);
  const logLevel = oneOf(settings, "LOG", "info", levels);
  return {
    // Secrets in files often end with a line break.
    database: settings.DATABASE?.trim() ?? "sqlite:./data/storefront.db",
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
    verify: oneOf(settings, "VERIFY", "memory", ["memory", "none"]) !== "none",
    admin: parseAdminAddress(settings),
    adminHosts: parseAdminHosts(settings),
    adminUrl: parseAdminUrl(settings),
    singleSignOn: parseSingleSignOn(settings),
    signInLinks,
    webhookAllow: parseNetworks(settings),
    contact: parseContact(settings),
    ignoredParameters: parseIgnoredParameters(settings),
    mcp: oneOf(settings, "MCP", "public", ["public", "none"]) !== "none",
    role: settings.ROLE === "worker" || settings.ROLE === "admin" ? settings.ROLE : "server",
  };
}

/** @returns undefined for `none` @throws ProblemError `bad-request` if the value is neither `none` nor a host and a port */
function parseAdminAddress({ ADMIN: text }: ConfigSources): AdminAddress | undefined {
  if (text === undefined) return { host: "127.0.0.1", port: 8081, isDefault: true };
  if (text === "none") return undefined;
  const [, host = "", digits = ""] = /^(\[[0-9a-f:.]+\]|[^\s:/@[\]]+):([0-9]{1,5})$/i.exec(text) ?? [];
  const port = Number(digits);
  if (host !== "" && port <= 65_535) return { host: host.replace(/^\[(.*)\]$/, "$1"), port, isDefault: false };
  throw new ProblemError(
    "bad-request",
    `${named("ADMIN")} must be \`none\`, or an address and a port such as 127.0.0.1:8081 or [::1]:8081, not "${text}"`,
  );
}

/** Formats an address for the setting ADMIN. */
export function toAdminText({ host, port }: AdminAddress): string {
  return `${toUrlHost(host)}:${port}`;
}

/** @returns an origin @throws ProblemError `bad-request` if the value isn't one that browsers can use safely */
function parseAdminUrl({ ADMIN_URL: text }: ConfigSources): string | undefined {
  if (text === undefined) return undefined;
  const url = parseSafeUrl(text);
  if (url?.pathname === "/" && url.search === "" && url.hash === "") return url.origin;
  throw new ProblemError(
    "bad-request",
    `${named("ADMIN_URL")} must be the console's address without a path, such as https://console.example, not "${text}"; http only works on this machine`,
  );
}

/** Returns undefined for URLs that others could listen in on. */
function parseSafeUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  return url && isSafe && url.username === "" && url.password === "" && url.href.length <= 500 ? url : undefined;
}

const singleSignOnSettings = ["OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_SECRET_FILE", "OIDC_ROLE", "ADMIN_URL"] as const;

/** @throws ProblemError `bad-request` about a setting that's missing or invalid */
function parseSingleSignOn(settings: ConfigSources): SingleSignOnSettings | undefined {
  const sessionMinutes = number(settings, "OIDC_SESSION", 60, 5, 720);
  const given = singleSignOnSettings.find((name) => settings[name] !== undefined);
  if (given === undefined || given === "ADMIN_URL") return undefined;
  const missing = singleSignOnSettings.find((name) => settings[name] === undefined);
  if (missing !== undefined) throw new ProblemError("bad-request", `${named(given)} also needs ${named(missing)}`);
  const issuer = settings.OIDC_ISSUER as string;
  const url = parseSafeUrl(issuer);
  if (url?.search !== "" || url.hash !== "" || issuer.includes("/.well-known/"))
    throw new ProblemError(
      "bad-request",
      `${named("OIDC_ISSUER")} must be the provider's issuer, such as https://login.example/realms/shop, without /.well-known/openid-configuration, not "${issuer}"`,
    );
  return {
    issuer: url.href,
    clientId: settings.OIDC_CLIENT_ID as string,
    secretFile: settings.OIDC_SECRET_FILE as string,
    mappings: parseRoleMappings(settings.OIDC_ROLE as string, named("OIDC_ROLE")),
    sessionMs: sessionMinutes * 60_000,
    consoleUrl: parseAdminUrl(settings) as string,
  };
}

/** @returns hostnames in normal form @throws ProblemError `bad-request` if one of them isn't a hostname */
function parseAdminHosts({ ADMIN_HOST: text, ADMIN_URL: url }: ConfigSources): string[] {
  // Its form is checked by `parseAdminUrl`.
  const ofUrl = url === undefined ? [] : [hostnameOf(URL.parse(url)?.host ?? "")];
  try {
    return [...(text === undefined ? [] : text.split(",").map(parseHostname)), ...ofUrl];
  } catch (error) {
    throw new ProblemError("bad-request", `${named("ADMIN_HOST")}: ${errorMessage(error)}`, { cause: error });
  }
}

/** @throws ProblemError `bad-request` if the value isn't a list of networks */
function parseNetworks({ WEBHOOK_ALLOW: text }: ConfigSources): IpNetwork[] {
  return (text?.split(",") ?? []).map((part) => {
    const network = toNetwork(part.trim());
    if (network) return network;
    throw new ProblemError(
      "bad-request",
      `${named("WEBHOOK_ALLOW")} must be networks such as 10.0.0.0/8 or fd00::/8, separated by commas, not "${text}"`,
    );
  });
}

/** @returns the URL in normal form, in which it has no quotes, spaces or angle brackets @throws ProblemError `bad-request` for anything else */
function parseContact({ CONTACT: text }: ConfigSources): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  const isMail = /^mailto:[\w.+-]+@[\w-]+(?:\.[\w-]+)*$/i.test(text);
  const isPage = url?.protocol === "https:" && url.username === "" && url.password === "";
  if (url && (isMail || isPage) && url.href.length <= 500) return url.href;
  throw new ProblemError(
    "bad-request",
    `${named("CONTACT")} must be a URL such as mailto:support@shop.example or https://shop.example/support, with at most 500 characters, not "${text}"`,
  );
}

const maxIgnored = 50;

/** @throws ProblemError `bad-request` for a bad name, too many names, or a name with an effect, because a misspelled `dryRun` must never be ignored */
function parseIgnoredParameters({ IGNORE_PARAMETERS: text }: ConfigSources): string[] {
  const names = text?.split(",").map((name) => name.trim()) ?? [];
  const option = named("IGNORE_PARAMETERS");
  if (names.length > maxIgnored)
    throw new ProblemError("bad-request", `${option} can have up to ${maxIgnored} names, not ${names.length}`);
  for (const name of names) {
    if (!ignorableName.test(name))
      throw new ProblemError(
        "bad-request",
        `${option} must be names such as lang,theme, separated by commas, not "${text}"`,
      );
    if (isMeaningful(name))
      throw new ProblemError("bad-request", `${option}: \`${name}\` can't be ignored, because it has an effect here`);
  }
  return names;
}

/**
 * Who runs a command, for the journal: `given`, or else the first valid name among SUDO_USER, USER and the process's user, or else `unknown`.
 * @throws ProblemError `bad-request` if `given` isn't 1 to 64 characters, or has control characters
 */
export function operatorName(given: string | undefined): string {
  if (given !== undefined) {
    if (isOperatorName(given)) return given;
    throw new ProblemError("bad-request", "--as must be a name of 1 to 64 characters, without control characters");
  }
  const { SUDO_USER, USER } = process.env;
  return [SUDO_USER, USER, systemUser()].find(isOperatorName) ?? "unknown";
}

/** Control characters could mess up a terminal or a log. */
function isOperatorName(name = ""): name is string {
  const length = [...name].length;
  return length >= 1 && length <= 64 && escapeControls(name) === name && !/[\t\n]/.test(name);
}

/** The environment for a child process with these settings. */
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
  throw new ProblemError("bad-request", `${named(name)} must be a whole number from ${min} to ${max}, not "${text}"`);
}

function flag(settings: ConfigSources, name: SettingName): boolean {
  const text = (settings[name] ?? "").toLowerCase();
  if (["1", "true", "yes", "on"].includes(text)) return true;
  if (["", "0", "false", "no", "off"].includes(text)) return false;
  throw new ProblemError("bad-request", `${named(name)} must be yes or no, not "${settings[name]}"`);
}

function oneOf(settings: ConfigSources, name: SettingName, fallback: string, words: readonly string[]): string {
  const text = settings[name] ?? fallback;
  if (words.includes(text)) return text;
  throw new ProblemError("bad-request", `${named(name)} must be one of ${words.join(", ")}, not "${text}"`);
}

/** A setting's option and variable, for messages. */
function named(name: SettingName): string {
  return `--${name.toLowerCase().replaceAll("_", "-")} (STOREFRONT_${name}${name === "PORT" ? " or PORT" : ""})`;
}
