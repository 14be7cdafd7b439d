// Runs nginx and Caddy with the configurations in deploy/, on free ports.

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestCertificate } from "./certificate.ts";
import { findProgram, freePort, replaceAll, run, startTool } from "./tools.ts";

export interface ProxyKind {
  readonly name: string;
  /** Returns the program's path; undefined if this machine can't have it. */
  find(folder: string): string | undefined;
  /** Writes the configuration to `folder`. Returns commands that check it and run the proxy in the foreground. */
  configure(
    program: string,
    folder: string,
    ports: ProxyPorts,
    certificate: TestCertificate,
    site: ProxiedSite,
  ): Promise<ProxyCommands>;
}

/** What's behind a proxy: the public listener, or the admin listener with the console. */
type ProxiedSite = "shop" | "console";

export interface ProxyPorts {
  readonly https: number;
  readonly http: number;
  /** The server behind the proxy. */
  readonly upstream: number;
}

interface ProxyCommands {
  readonly check: readonly string[];
  readonly serve: readonly string[];
}

export interface RunningProxy {
  readonly ports: ProxyPorts;
  stop(): Promise<void>;
}

const deploy = join(import.meta.dir, "..");

/** Where the configurations expect the server to listen. */
const upstreams = { shop: "127.0.0.1:8080", console: "127.0.0.1:8081" };

export const proxyKinds: readonly ProxyKind[] = [
  {
    name: "nginx",
    find: (folder) => findProgram("nginx", ["nginx", "nginx-common"], folder),
    async configure(program, folder, ports, { cert, key }, site) {
      const file = site === "shop" ? "nginx.conf" : "nginx-console.conf";
      const text = replaceAll(readFileSync(join(deploy, file), "utf8"), {
        [upstreams[site]]: `127.0.0.1:${ports.upstream}`,
        "listen 443": `listen 127.0.0.1:${ports.https}`,
        "listen 80": `listen 127.0.0.1:${ports.http}`,
        "/etc/ssl/storefront/cert.pem": cert,
        "/etc/ssl/storefront/key.pem": key,
      });
      await Bun.write(join(folder, "site.conf"), text);
      await Bun.write(join(folder, "nginx.conf"), nginxMain(folder));
      const command = [program, "-e", "stderr", "-p", folder, "-c", join(folder, "nginx.conf")];
      return { check: [...command, "-t"], serve: command };
    },
  },
  {
    name: "caddy",
    find: (folder) => findProgram("caddy", ["caddy"], folder),
    async configure(program, folder, ports, { cert, key }, site) {
      const read = (name: string) => readFileSync(join(deploy, name), "utf8");
      // console.Caddyfile has no global options, because it gets added to a Caddyfile that may have some.
      const source = site === "shop" ? read("Caddyfile") : `\n{\n\tservers {\n\t}\n}\n${read("console.Caddyfile")}`;
      const text = replaceAll(source, {
        [upstreams[site]]: `127.0.0.1:${ports.upstream}`,
        "/etc/ssl/storefront/cert.pem": cert,
        "/etc/ssl/storefront/key.pem": key,
        "\n{\n\tservers": `\n{\n\tadmin off\n\thttp_port ${ports.http}\n\thttps_port ${ports.https}\n\tservers`,
      });
      const file = join(folder, "Caddyfile");
      await Bun.write(file, text);
      const options = ["--config", file, "--adapter", "caddyfile"];
      return { check: [program, "validate", ...options], serve: [program, "run", ...options] };
    },
  },
];

/** Sets what Debian's nginx.conf does, above all `gzip on`, with files in `folder`. */
function nginxMain(folder: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  return `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log stderr warn;
${process.getuid?.() === 0 ? "user root;" : ""}
events { worker_connections 768; }
http {
  sendfile on; tcp_nopush on; types_hash_max_size 2048; access_log off; gzip on;
  default_type application/octet-stream;
${temporary.map((name) => `  ${name}_temp_path ${folder}/${name};`).join("\n")}
  include ${folder}/site.conf;
}
`;
}

/** Starts a proxy in front of `upstream`. @throws with its output if the check fails, or if it doesn't listen within 10 seconds */
export async function startProxy(
  kind: ProxyKind,
  program: string,
  folder: string,
  upstream: number,
  certificate: TestCertificate,
  site: ProxiedSite = "shop",
): Promise<RunningProxy> {
  mkdirSync(folder, { recursive: true });
  const ports = { https: await freePort(), http: await freePort(), upstream };
  const { check, serve } = await kind.configure(program, folder, ports, certificate, site);
  const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const checked = run(check, { env });
  if (checked.status !== 0) throw new Error(checked.stderr + checked.stdout);
  const tool = startTool(serve, env);
  if (!(await listens(ports.https))) throw new Error(`${kind.name} isn't listening: ${await tool.stop()}`);
  return { ports, stop: async () => void (await tool.stop()) };
}

async function listens(port: number): Promise<boolean> {
  const socket = {
    data() {},
    open(opened: Bun.Socket) {
      opened.end();
    },
  };
  for (const end = Date.now() + 10_000; Date.now() < end; await Bun.sleep(50)) {
    const connected = await Bun.connect({ hostname: "127.0.0.1", port, socket }).catch(() => undefined);
    if (connected) return true;
  }
  return false;
}
