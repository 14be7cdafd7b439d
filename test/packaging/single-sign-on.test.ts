// Single sign-on with `oidc-provider`, a certified OpenID Connect provider, in a server with workers.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import type { SignInWaysInfo } from "../../src/admin/api/types.ts";
import { CookieJar } from "../support/console/issuer.ts";
import { freePort } from "../support/postgres/server.ts";
import { openWorkspace } from "../support/programs/command.ts";
import { waitUntil } from "../support/time.ts";
import { tool } from "./tools/tools.ts";

const workspace = openWorkspace();
const groups: Record<string, string[]> = { anna: ["storefront-admins"], ben: ["shop-main"], eve: [] };
const secret = "0123456789abcdef0123456789abcdef";
let issuer = "";
let provider: Bun.Subprocess;
let home = "";

beforeAll(async () => {
  const [adminPort, issuerPort] = [await freePort(), await freePort()];
  home = `http://localhost:${adminPort}`;
  issuer = `http://127.0.0.1:${issuerPort}`;
  // In Node, which it's made for.
  const script = workspace.file("provider.mjs");
  writeFileSync(script, providerScript(issuerPort));
  provider = Bun.spawn(["node", script], { stdout: "pipe", stderr: "pipe" });
  await waitUntil(
    () =>
      fetch(`${issuer}/.well-known/openid-configuration`).then(
        (response) => response.ok,
        () => false,
      ),
    "the provider",
  );
  await workspace.data.addSite("main");
  writeFileSync(workspace.file("secret"), `${secret}\n`);
  await workspace.serve([
    ...["--workers", "2", "--admin", `127.0.0.1:${adminPort}`, "--admin-url", home, "--oidc-issuer", issuer],
    ...["--oidc-client-id", "storefront", "--oidc-secret-file", workspace.file("secret"), "--sign-in-links", "none"],
    ...["--oidc-role", "groups=storefront-admins:admin", "--oidc-role", "groups=shop-main:editor@main"],
  ]);
}, 60_000);
afterAll(async () => {
  provider.kill();
  await provider.exited;
  await workspace.close();
});

function providerScript(port: number): string {
  return `
import { Provider } from ${JSON.stringify(tool("oidc-provider/lib/index.js"))};
const groups = ${JSON.stringify(groups)};
const provider = new Provider(${JSON.stringify(issuer)}, {
  clients: [{
    client_id: "storefront", client_secret: ${JSON.stringify(secret)}, redirect_uris: [${JSON.stringify(`${home}/sign-in/callback`)}],
    post_logout_redirect_uris: [${JSON.stringify(`${home}/`)}],
  }],
  claims: { openid: ["sub"], profile: ["preferred_username"], groups: ["groups"] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, preferred_username: id, groups: groups[id] }) }),
  cookies: { keys: ["test"] },
});
provider.listen(${port}, "127.0.0.1");
`;
}

/** Goes through everything like a browser whose person signs in as `login` and agrees. Returns where the console's page is opened. */
async function signIn(login: string, jars: Record<string, CookieJar>): Promise<string> {
  let url = `${home}/sign-in`;
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 20; step++) {
    const { origin } = new URL(url);
    jars[origin] ??= new CookieJar();
    const jar = jars[origin];
    const headers = { Cookie: jar.header };
    const body = form ? { method: "POST", body: form } : {};
    const response = await fetch(url, { headers, redirect: "manual", ...body });
    jar.keep(response);
    const text = await response.text();
    const location = response.headers.get("Location");
    form = undefined;
    if (location?.startsWith("/#")) return location;
    if (location) url = new URL(location, url).href;
    else {
      const [, action] = /action="([^"]+)"/.exec(text) ?? [];
      if (!action) throw new Error(`${response.status}: ${text.slice(0, 2000)}`);
      url = new URL(action, url).href;
      const [, prompt = ""] = /name="prompt" value="(\w+)"/.exec(text) ?? [];
      form = new URLSearchParams(prompt === "login" ? { prompt, login, password: "x" } : { prompt });
    }
  }
  throw new Error("too many redirects");
}

async function sessionAfter(jars: Record<string, CookieJar>) {
  const headers = { Cookie: (jars[home] as CookieJar).header, Connection: "close" };
  const response = await fetch(`${home}/operator/session`, { headers });
  return (await response.json()) as Record<string, unknown>;
}

describe("with a certified provider", () => {
  test("people get the role and sites of their groups, and sign in again without being asked", async () => {
    const jars: Record<string, CookieJar> = {};
    expect(await signIn("anna", jars)).toBe("/#/");
    expect(await sessionAfter(jars)).toMatchObject({ operator: "anna", role: "admin", sites: null });
    // The provider's session is still there, so no form is shown.
    expect(await signIn("nobody", jars)).toBe("/#/");
    expect(await sessionAfter(jars)).toMatchObject({ operator: "anna" });
    const others: Record<string, CookieJar> = {};
    expect(await signIn("ben", others)).toBe("/#/");
    expect(await sessionAfter(others)).toMatchObject({ operator: "ben", role: "editor", sites: ["main"] });
    const listed = JSON.parse(await workspace.mustRun(["operator", "list", "--json"]));
    expect(listed.map((one: { singleSignOn: object }) => one.singleSignOn)).toEqual([
      { issuer: `${issuer}/`, subject: "anna" },
      { issuer: `${issuer}/`, subject: "ben" },
    ]);
  });

  test("people without a group get nothing", async () => {
    expect(await signIn("eve", {})).toBe("/#sign-in-failed=no_access");
  });

  test("the provider accepts that people sign out there", async () => {
    const { ways } = await sessionAfter({ [home]: new CookieJar() });
    const page = await fetch((ways as SignInWaysInfo).signOutUrl ?? "");
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("/session/end/confirm")]);
  });
});
