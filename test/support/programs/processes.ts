// Starts server processes as an operator would.

import { fileURLToPath } from "node:url";
import type { ConfigSources } from "../../../src/config.ts";

export interface ServerProcess {
  readonly url: string;
  /** With `ADMIN` in its settings. */
  readonly adminUrl: string | undefined;
  readonly pid: number;
  /** Sends it `signal` (default: SIGTERM), and returns its exit status. */
  end(signal?: NodeJS.Signals): Promise<number>;
  /** What it has printed on stderr. */
  log(): string;
}

const main = fileURLToPath(new URL("../../../src/main.ts", import.meta.url));

/** Runs the program with `args` until it exits. */
export async function runProgram(args: readonly string[], settings: ConfigSources = {}) {
  const child = Bun.spawn([process.execPath, main, ...args], { env: toEnv(settings), stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { status: await child.exited, stdout, stderr };
}

/** Runs the program with `args` on a terminal until it exits. `shown` is what the terminal got, including control characters. */
export async function runOnTerminal(args: readonly string[]) {
  const decoder = new TextDecoder();
  let shown = "";
  const closed = Promise.withResolvers<void>();
  const child = Bun.spawn([process.execPath, main, ...args], {
    env: toEnv({}),
    terminal: {
      cols: 100,
      rows: 24,
      data: (_, bytes) => {
        shown += decoder.decode(bytes, { stream: true });
      },
      exit: () => closed.resolve(),
    },
  });
  const status = await child.exited;
  await closed.promise;
  return { status, shown };
}

/** Starts a server on a free port. @throws with its output if it exits before it's listening */
export async function startProcess(settings: ConfigSources): Promise<ServerProcess> {
  const child = Bun.spawn([process.execPath, main, "serve"], {
    env: toEnv({ PORT: "0", LOG: "error", ...settings }),
    stdout: "pipe",
    stderr: "pipe",
  });
  let said = "";
  const saying = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) said += decoder.decode(chunk, { stream: true });
  })();
  const onExit = () => void child.kill("SIGKILL");
  process.on("exit", onExit);
  void child.exited.then(() => process.off("exit", onExit));
  const addresses = settings.ADMIN
    ? /listen(?:s|ing) on (\S+)\n[\s\S]*(?:Console and metrics:|admin listener is at) (\S+)\n/
    : /listen(?:s|ing) on (\S+)\n/;
  const [, url, adminUrl] = (await foundIn(child.stdout, addresses)) ?? [];
  if (!url) {
    await saying;
    throw new Error(`the server did not start: ${said}`);
  }
  return {
    url,
    adminUrl,
    pid: child.pid,
    end: (signal = "SIGTERM") => {
      child.kill(signal);
      return child.exited;
    },
    log: () => said,
  };
}

async function foundIn(stdout: ReadableStream<Uint8Array>, pattern: RegExp): Promise<RegExpExecArray | undefined> {
  let text = "";
  const decoder = new TextDecoder();
  const reader = stdout.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
    const found = pattern.exec(text);
    if (found) return found;
  }
  return undefined;
}

function toEnv(settings: ConfigSources): Record<string, string> {
  const ours = Object.entries(settings).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("STOREFRONT_"));
  return {
    ...(Object.fromEntries(inherited) as Record<string, string>),
    STOREFRONT_ADMIN: "none",
    ...Object.fromEntries(ours.map(([name, value]) => [`STOREFRONT_${name}`, value])),
  };
}
