// Checks the Kubernetes manifest against the Kubernetes API's schemas and types, and that its parts agree.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { installPackage } from "./packages.ts";
import type { Report } from "./report.ts";
import { run } from "./tools.ts";

interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own members, and the check below compares them with their types
  readonly spec: any;
}

/** A service, a stateful set and a network policy. */
type KubernetesFile = readonly [KubernetesObject, KubernetesObject, KubernetesObject];

const file = join(import.meta.dir, "../kubernetes.yaml");
const tsc = join(import.meta.dir, "../../node_modules/typescript/bin/tsc");

export async function checkKubernetes(report: Report, folder: string): Promise<void> {
  const objects = Bun.YAML.parse(readFileSync(file, "utf8")) as KubernetesFile;
  checkReferences(report, objects);
  const models = installPackage("kubernetes-models", "5.1.0", folder);
  if (!models)
    return report.skip("kubernetes: it matches the API's schemas", "can't install the package kubernetes-models");
  for (const object of objects) await checkSchema(report, models, object);
  const broken = structuredClone(objects[1]);
  broken.spec.template.spec.containers[0].readinesProbe = {};
  report.check("kubernetes: this check would find a misspelt member", !(await hasItsType(folder, broken)).holds);
  for (const object of objects) {
    const { holds, output } = await hasItsType(folder, object);
    report.check(`kubernetes: ${object.kind} only has members of its type`, holds, output);
  }
}

async function checkSchema(report: Report, models: string, { kind, apiVersion, ...rest }: KubernetesObject) {
  const module = await import(join(models, apiVersion, "index.js"));
  const fault = await Promise.resolve()
    .then(() => new module[kind]({ ...rest }).validate())
    .then(() => undefined, String);
  report.check(`kubernetes: ${kind} matches its schema`, fault === undefined, fault);
}

/** Whether TypeScript accepts `object` as a literal of its type, so that it has no unknown members. */
async function hasItsType(folder: string, object: KubernetesObject): Promise<{ holds: boolean; output: string }> {
  const source = join(folder, "object.ts");
  const { apiVersion, kind } = object;
  const literal = JSON.stringify(object, null, 2);
  await Bun.write(
    source,
    `import type { I${kind} } from "kubernetes-models/${apiVersion}";\nexport const object: I${kind} = ${literal};\n`,
  );
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--ignoreConfig"];
  const { status, stdout } = run(["node", tsc, ...options, source], { cwd: folder });
  return { holds: status === 0, output: stdout };
}

/** Checks that names and numbers agree. */
function checkReferences(report: Report, [service, set, policy]: KubernetesFile): void {
  const pod = set.spec.template;
  const [container] = pod.spec.containers;
  const labels = JSON.stringify(pod.metadata.labels);
  const selectors = [service.spec.selector, set.spec.selector.matchLabels, policy.spec.podSelector.matchLabels];
  report.check(
    "kubernetes: every selector selects the pod",
    selectors.every((one) => JSON.stringify(one) === labels),
  );
  const ports = new Set(container.ports.map(({ name }: { name: string }) => name));
  const used = [
    service.spec.ports[0].targetPort,
    ...["startupProbe", "readinessProbe", "livenessProbe"].map((probe) => container[probe].httpGet.port),
    ...policy.spec.ingress.map((rule: { ports: { port: string }[] }) => rule.ports[0]?.port),
  ];
  report.check(
    "kubernetes: every port in use is declared",
    used.every((port) => ports.has(port)),
    used,
  );
  const claims = set.spec.volumeClaimTemplates.map((claim: { metadata: { name: string } }) => claim.metadata.name);
  const mounts = container.volumeMounts.map(({ name }: { name: string }) => name);
  report.check("kubernetes: every mounted volume is claimed", String(claims) === String(mounts));
}
