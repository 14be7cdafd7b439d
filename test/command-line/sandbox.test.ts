// The sandbox commands: what they print, and how a running server reacts.

import { afterAll, expect, test } from "bun:test";
import { fetchWithKey, openWorkspace } from "../support/programs/command.ts";

const workspace = openWorkspace();
await workspace.data.addSite("garden", { hostnames: ["garden.example"] });
const liveKey = await workspace.data.addKey("garden");
await workspace.mustRun(["import", "--site", "garden", "brands", "-"], { stdin: "Name\nAcme\nBolt\n" });
const server = await workspace.serve();
afterAll(() => workspace.close());

const run = async (...args: string[]) => {
  const { code, stdout, stderr } = await workspace.run(args);
  return { code, stdout, message: stderr.replace(/^storefront: /, "").trim() };
};
/** The names of the brands that a key reads at garden's hostname, and the sandbox named in the response. */
async function read(key: string) {
  const response = await fetchWithKey(`${server.url}/restapi/brands.json`, key, {
    headers: { Host: "garden.example" },
  });
  const names = response.ok ? ((await response.json()) as { Name: string }[]).map(({ Name }) => Name) : response.status;
  return [names, response.headers.get("X-Sandbox")];
}

test("a sandbox is created, opened by its key at its site's hostname, renewed, renamed, suspended and removed", async () => {
  expect(await run("key", "create", "--site", "garden", "--sandbox")).toMatchObject({
    code: 1,
    message: "the site `garden` has no sandbox yet; create it with `site sandbox garden`",
  });
  const made = await run("site", "sandbox", "garden");
  expect([made.code, made.stdout]).toEqual([0, "garden-sandbox\n"]);
  expect(made.message).toMatch(
    /^created the sandbox garden-sandbox with 2 records; to create a key for it: .*--sandbox/,
  );
  const key = (await workspace.mustRun(["key", "create", "--site", "garden", "--sandbox"])).trim();
  const same = (await workspace.mustRun(["key", "create", "--site", "garden-sandbox", "--label", "same"])).trim();
  for (const one of [key, same]) {
    expect(one).toStartWith("sfk_test_");
    expect(await read(one)).toEqual([["Acme", "Bolt"], "garden-sandbox"]);
  }
  const listed = await workspace.mustRun(["key", "list", "--site", "garden-sandbox", "--json"]);
  expect(JSON.parse(listed)[0].prefix).toBe(key.slice(0, 17));
  expect(await workspace.mustRun(["key", "list", "--site", "garden", "--sandbox", "--json"])).toBe(listed);
  expect((await workspace.run(["key", "list", "--sandbox"])).code).toBe(2);

  await workspace.mustRun(["delete", "--site", "garden-sandbox", "brands", "1"]);
  expect([await read(key), await read(liveKey)]).toEqual([
    [["Bolt"], "garden-sandbox"],
    [["Acme", "Bolt"], null],
  ]);
  const renewed = await run("site", "sandbox", "garden", "--json");
  expect(renewed.message).toMatch(
    /^refreshed the sandbox garden-sandbox with 2 records; its 2 keys and 0 webhooks stay/,
  );
  expect(JSON.parse(renewed.stdout)).toMatchObject({ name: "garden-sandbox", isNew: false, records: 2, keys: 2 });
  expect(await read(key)).toEqual([["Acme", "Bolt"], "garden-sandbox"]);

  const renamed = await run("site", "set", "garden", "--name", "park");
  expect([renamed.code, renamed.message]).toEqual([0, "its sandbox is now called park-sandbox"]);
  expect(await read(key)).toEqual([["Acme", "Bolt"], "park-sandbox"]);
  await workspace.mustRun(["site", "set", "park", "--suspend"]);
  expect(await read(key)).toEqual([403, "park-sandbox"]);
  expect(await workspace.mustRun(["site", "list"])).toMatch(
    /\n\d+ +park +garden\.example +suspended since .*\n\d+ +park-sandbox +sandbox of park, suspended since .*\n$/,
  );
  await workspace.mustRun(["site", "set", "park", "--resume"]);
  expect(await workspace.mustRun(["site", "show", "park"])).toMatch(/\nSandbox +park-sandbox\n/);
  expect(await workspace.mustRun(["site", "show", "park-sandbox"])).toMatch(/\nState +sandbox of park\n/);

  expect(await run("site", "remove", "park")).toMatchObject({
    code: 1,
    message: expect.stringMatching(
      /^this permanently deletes the site `park` and its sandbox `park-sandbox` with their keys/,
    ),
  });
  expect((await run("site", "remove", "park-sandbox", "--yes")).message).toBe("removed the site park-sandbox");
  expect([await read(key), (await read(liveKey))[0]]).toEqual([
    [401, null],
    ["Acme", "Bolt"],
  ]);
  await workspace.mustRun(["site", "sandbox", "park"]);
  expect((await run("site", "remove", "park", "--yes")).message).toBe(
    "removed the site park and its sandbox park-sandbox",
  );
  expect(await workspace.data.check()).toEqual([]);
});
