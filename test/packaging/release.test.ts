// `npm run release`: what it rejects, and what a failed step leaves behind. docs/releasing.md has the steps of a whole release.

import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { appendFileSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { version } from "../../package.json" with { type: "json" };
import { closeChangelog, sectionOf } from "../../scripts/build/release/changelog.ts";
import { publishLocally, taggedSignature } from "../../scripts/build/release/checkout.ts";
import { thirdPartyLicenses } from "../../scripts/build/release/licenses.ts";
import { compareVersions, isVersion, planRelease } from "../../scripts/build/release/readiness.ts";
import { consoleComponents, makeSbom } from "../../scripts/build/release/sbom.ts";

const script = fileURLToPath(new URL("../../scripts/build/release/main.ts", import.meta.url));
const changelog =
  "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A feature.\n\n## [0.9.0] - 2026-01-31\n\n- The first one.\n";

const keys = mkdtempSync(join(tmpdir(), "storefront-release-keys-"));
const [key, otherKey] = [join(keys, "key"), join(keys, "other")];
for (const file of [key, otherKey]) Bun.spawnSync(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file]);
afterAll(() => rmSync(keys, { recursive: true, force: true }));

describe("release version", () => {
  test.each(["1.0.0", "0.10.3", "1.0.0-rc.1"])("%j is valid", (text) => {
    expect(isVersion(text)).toBe(true);
  });

  test.each(["v1.0.0", "1.0", "01.0.0", "1.0.0-beta", "1.0.0\n", "1.0.0 --tagged"])("%j is invalid", (text) => {
    expect(isVersion(text)).toBe(false);
  });

  test("is ordered by its numbers, with candidates before their release", () => {
    const ordered = ["0.9.0", "0.10.0", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.0.1", "1.1.0-rc.1", "1.1.0"];
    expect(ordered.toReversed().sort(compareVersions)).toEqual(ordered);
  });
});

describe("release changelog", () => {
  test("closing it moves unreleased changes under the version's heading, below a new section", () => {
    const closed = closeChangelog(changelog, "1.0.0", "2026-02-28");
    expect(closed).toStartWith(
      "# Changelog\n\n## [Unreleased]\n\n## [1.0.0] - 2026-02-28\n\n### Added\n\n- A feature.\n",
    );
    expect(sectionOf(closed, "1.0.0")).toBe("### Added\n\n- A feature.");
    expect(sectionOf(closed, "0.9.0")).toBe("- The first one.");
    expect(sectionOf(closed, "0.9")).toBeUndefined();
  });

  test.each([
    ["an empty section", "# Changelog\n\n## [Unreleased]\n\n## [0.9.0] - 2026-01-31\n\n- The first one.\n", "is empty"],
    ["no section", "# Changelog\n\nText.\n", "no section"],
    ["a section of that version", `${changelog}\n## [1.0.0] - 2026-01-31\n`, "already"],
  ])("%s is rejected", (_, text, reason) => {
    expect(() => closeChangelog(text, "1.0.0", "2026-02-28")).toThrow(reason);
  });

  test("this repository's can be closed", () => {
    const text = readFileSync(new URL("../../CHANGELOG.md", import.meta.url), "utf8");
    expect(sectionOf(closeChangelog(text, "999.0.0", "2026-02-28"), "999.0.0")).not.toBe("");
  });
});

test("files in deploy/ name the image of this version", () => {
  for (const file of ["deploy/Dockerfile", "deploy/compose.yaml", "deploy/kubernetes.yaml", "docs/deploying.md"]) {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
    const named = [...text.matchAll(/storefront:([0-9]+\.[0-9]+\.[0-9]+\S*)/g)].map(([, tag]) => tag);
    expect([file, ...new Set(named)]).toEqual([file, version]);
  }
});

describe("npm run release", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "storefront-release-test-"));
    writeFileSync(join(folder, "package.json"), '{\n  "name": "storefront",\n  "version": "0.9.0"\n}\n');
    writeFileSync(join(folder, "CHANGELOG.md"), changelog);
    writeFileSync(join(folder, ".gitignore"), "/dist/\n");
    git("init", "--quiet", "--initial-branch=main");
    git("add", ".");
    git("-c", "user.name=Test", "-c", "user.email=test@example.org", "commit", "--quiet", "--message", "first");
    git("config", "user.name", "Test");
    git("config", "user.email", "test@example.org");
    passCi();
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function git(...args: string[]): string {
    const { stdout, stderr, exitCode } = Bun.spawnSync(["git", ...args], { cwd: folder });
    if (exitCode !== 0) throw new Error(stderr.toString());
    return stdout.toString().trim();
  }

  /** The lines that `.ci/run` writes. */
  function passCi(): void {
    mkdirSync(join(folder, "dist"), { recursive: true });
    writeFileSync(join(folder, "dist/ci-passed"), `${git("rev-parse", "HEAD")}\n`);
  }

  const sign = ["--sign", key];

  function release(...args: string[]): { status: number; output: string } {
    // A release's checkout always has the same path, so each test gets its own place for it.
    const env = { ...process.env, TMPDIR: join(folder, "dist") };
    const ended = Bun.spawnSync([process.execPath, script, ...args], { cwd: folder, env });
    return { status: ended.exitCode, output: `${ended.stdout}${ended.stderr}` };
  }

  const rejections: [string, () => void, string[], string][] = [
    ["without a version", () => {}, [], "usage"],
    ["without a key", () => {}, ["1.0.0", "--dry-run"], "usage"],
    [
      "with a missing key",
      () => {},
      ["1.0.0", "--sign", "missing"],
      "missing; docs/releasing.md says how to create it",
    ],
    ["with an invalid version", () => {}, ["one"], "invalid version `one`"],
    ["with a version before the latest tag", () => git("tag", "v2.0.0"), ["1.0.0"], "1.0.0 isn't later than 2.0.0"],
    ["with an existing tag", () => git("tag", "v1.0.0"), ["1.0.0"], "the tag v1.0.0 exists already"],
    ["with a changed file", () => writeFileSync(join(folder, "CHANGELOG.md"), "x"), ["1.0.0"], "isn't clean"],
    ["with a new file", () => writeFileSync(join(folder, "new"), "x"), ["1.0.0"], "isn't clean"],
    ["without a branch", () => git("checkout", "--quiet", "--detach"), ["1.0.0"], "check out a branch first"],
    [
      "of a commit that hasn't passed CI",
      () => git("commit", "--allow-empty", "-qm", "x"),
      ["1.0.0"],
      "CI hasn't passed",
    ],
    ["from a missing tag", () => {}, ["0.9.0", "--tagged"], "doesn't have the tag v0.9.0"],
    [
      "from a tag of another version",
      () => git("tag", "v1.0.0"),
      ["1.0.0", "--tagged"],
      "package.json has version 0.9.0",
    ],
  ];
  test.each(rejections)("is rejected %s", (_, prepare, args, reason) => {
    prepare();
    const how = args.some((arg) => arg.startsWith("--")) || reason === "usage" ? [] : sign;
    const { status, output } = release(...args, ...how, "--dry-run");
    expect([status, output]).toEqual([1, expect.stringMatching(reason)]);
  });

  test("as a dry run says what it would do, and changes nothing", () => {
    const { status, output } = release("1.0.0", ...sign, "--dry-run");
    expect([status, output]).toEqual([0, expect.stringContaining("set the version to 1.0.0")]);
    expectUntouched();
  });

  test("leaves the tree, the branch and the tags as they were if a step fails", () => {
    // `npm ci` needs a lock file.
    const { status, output } = release("1.0.0", ...sign);
    expect([status, output]).toEqual([1, expect.stringContaining("`npm ci --no-audit --no-fund` failed")]);
    expectUntouched();
  });

  test("doesn't tag a branch that has moved meanwhile", async () => {
    const plan = await planRelease(folder, "1.0.0", key);
    const first = git("rev-parse", "HEAD");
    git("checkout", "--quiet", "--detach");
    git("commit", "--allow-empty", "--quiet", "--message", "release: 1.0.0");
    const released = git("rev-parse", "HEAD");
    git("checkout", "--quiet", "main");
    git("commit", "--allow-empty", "--quiet", "--message", "meanwhile");
    await expect(publishLocally(plan, released, "signature")).rejects.toThrow("merge");
    expect([git("tag"), git("log", "--format=%s")]).toEqual(["", "meanwhile\nfirst"]);
    git("reset", "--quiet", "--hard", first);
    await publishLocally(plan, released, "first\nsecond\n");
    expect(await taggedSignature(plan)).toBe("first\nsecond\n");
    expect([git("tag"), git("log", "--format=%s")]).toEqual(["v1.0.0", "release: 1.0.0\nfirst"]);
  });

  function expectUntouched(): void {
    expect(git("status", "--porcelain", "--ignored")).toBe("!! dist/");
    expect(git("log", "--format=%s")).toBe("first");
    expect(git("tag")).toBe("");
    expect(git("worktree", "list").split("\n")).toHaveLength(1);
    expect(Bun.file(join(folder, "dist/release")).size).toBe(0);
  }
});

describe("verify-release", () => {
  let folder: string;
  const at = (name: string) => join(folder, name);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "storefront downloads-"));
    writeFileSync(at("storefront-server-1.0.0.tgz"), "package");
    writeFileSync(at("storefront-1.0.0-linux-x64.tar.gz"), "archive");
    const { stdout } = Bun.spawnSync(["sha512sum", at("storefront-server-1.0.0.tgz")]);
    writeFileSync(at("storefront-1.0.0.cdx.json"), stdout);
    sign();
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function sign(file = key): void {
    const command = `sha256sum storefront-* >SHA256SUMS; rm -f *.sig; ssh-keygen -q -Y sign -f "${file}" -n storefront-release SHA256SUMS`;
    expect(Bun.spawnSync(["sh", "-c", command], { cwd: folder }).exitCode).toBe(0);
  }

  /** Runs a copy outside the repository, as someone does who has only downloaded it. */
  function verify(...args: string[]): { status: number; output: string } {
    const copy = join(keys, "verify-release");
    copyFileSync(new URL("../../scripts/verify-release", import.meta.url), copy);
    const ended = Bun.spawnSync(["sh", copy, "--key", `${key}.pub`, ...args], { cwd: folder });
    return { status: ended.exitCode, output: `${ended.stdout}${ended.stderr}` };
  }

  test.each([
    ["a folder", () => [folder], "3 of the release's 3 files"],
    ["the current folder", () => [], "3 of the release's 3 files"],
    ["one file", () => [at("storefront-1.0.0-linux-x64.tar.gz")], "1 of the release's 3 files"],
  ])("accepts %s", (_, args, reason) => {
    expect(verify(...args())).toEqual({ status: 0, output: expect.stringContaining(reason) });
  });

  test.each([
    [
      "a changed file",
      () => writeFileSync(at("storefront-server-1.0.0.tgz"), "Package"),
      "differs from the released file",
    ],
    ["a file that isn't listed", () => writeFileSync(at("storefront-1.0.0-linux-x64"), ""), "isn't listed"],
    ["changed checksums", () => appendFileSync(at("SHA256SUMS"), "0\n"), "isn't the maintainers' signature"],
    ["another signer", () => sign(otherKey), "isn't the maintainers' signature"],
    ["no signature", () => rmSync(at("SHA256SUMS.sig")), "SHA256SUMS.sig is missing"],
    ["no files", () => rmSync(at("storefront-1.0.0.cdx.json")), "isn't a file"],
    [
      "an SBOM of another package",
      () => {
        writeFileSync(at("storefront-1.0.0.cdx.json"), "{}");
        sign();
      },
      "doesn't describe",
    ],
  ])("rejects %s", (what, change, reason) => {
    change();
    const args = what === "no files" ? [at("storefront-1.0.0.cdx.json")] : [];
    expect(verify(...args)).toEqual({ status: 1, output: expect.stringMatching(reason) });
  });
});

describe("third-party licences", () => {
  let modules: string;
  beforeEach(() => {
    modules = join(mkdtempSync(join(tmpdir(), "storefront-licences-")), "node_modules");
  });
  afterEach(() => rmSync(join(modules, ".."), { recursive: true, force: true }));

  function install(packages: Record<string, { license?: string; text?: string }>): void {
    const paths = Object.entries(packages).map(([name, { license, text }]) => {
      const folder = join(modules, name);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "package.json"), JSON.stringify({ name, version: "1.0.0", license }));
      if (text) writeFileSync(join(folder, "LICENSE"), text);
      return [`node_modules/${name}`, {}];
    });
    writeFileSync(join(modules, ".package-lock.json"), JSON.stringify({ packages: Object.fromEntries(paths) }));
  }

  test("list each package with its text, but not the program itself", () => {
    install({
      "storefront-server": { license: "MIT" },
      b: { license: "(GPL-3.0 OR MIT)", text: "Text of b" },
      a: { license: "ISC" },
    });
    const text = thirdPartyLicenses(modules, "What the console contains");
    expect([...text.matchAll(/^(\S+) 1\.0\.0 \((.+)\)$/gm)].map(([, name, license]) => `${name} ${license}`)).toEqual([
      "a ISC",
      "b (GPL-3.0 OR MIT)",
    ]);
    expect(text).toContain("Text of b");
    expect(text).toEndWith("What the console contains");
  });

  test.each([
    ["GPL-3.0"],
    ["MIT AND GPL-3.0"],
    ["SEE LICENSE IN x"],
    [undefined],
  ])("%p stops the release", (license) => {
    install({ a: { ...(license && { license }) } });
    expect(() => thirdPartyLicenses(modules, "")).toThrow("licences we don't accept: a");
  });
});

describe("bill of materials", () => {
  let folder: string;
  const integrity = `sha512-${Buffer.alloc(64, 7).toString("base64")}`;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "storefront-bill-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function write(file: string, content: unknown): void {
    mkdirSync(join(folder, file, ".."), { recursive: true });
    writeFileSync(join(folder, file), JSON.stringify(content));
  }

  test("lists the installed packages and the console's components under the program", async () => {
    write("package.json", {
      name: "installed",
      version: "0.0.0",
      private: true,
      dependencies: { storefront: "1.0.0" },
    });
    write("node_modules/storefront/package.json", {
      name: "storefront",
      version: "1.0.0",
      license: "MIT",
      dependencies: { server: "2.0.0" },
    });
    write("node_modules/server/package.json", { name: "server", version: "2.0.0", license: "ISC" });
    const view = { path: "node_modules/@web/view", name: "@web/view", version: "3.0.0", license: "MIT" };
    write("dist/console-packages.json", [view, { ...view, path: "node_modules/other/node_modules/@web/view" }]);
    const locked = { version: "3.0.0", integrity };
    write("package-lock.json", {
      packages: { "node_modules/@web/view": locked, "node_modules/other/node_modules/@web/view": locked },
    });
    const bill = JSON.parse(await makeSbom(folder, consoleComponents(folder), "seed", new Date(0)));
    expect(bill.metadata.component.name).toBe("storefront");
    expect(bill.components.map(({ purl }: { purl: string }) => purl)).toEqual([
      "pkg:npm/server@2.0.0",
      "pkg:npm/%40web/view@3.0.0",
    ]);
    expect(bill.components[1].hashes).toEqual([{ alg: "SHA-512", content: "07".repeat(64) }]);
    const { dependsOn } = bill.dependencies.find(({ ref }: { ref: string }) => ref === "storefront@1.0.0");
    expect(dependsOn).toEqual(["server@2.0.0", "@web/view@3.0.0"]);
  }, 60_000);

  test("is refused for a version that isn't the lock file's", () => {
    write("dist/console-packages.json", [{ path: "node_modules/a", name: "a", version: "1.0.0", license: "MIT" }]);
    write("package-lock.json", { packages: { "node_modules/a": { version: "1.0.1", integrity } } });
    expect(() => consoleComponents(folder)).toThrow("package-lock.json doesn't have a 1.0.0");
  });
});
