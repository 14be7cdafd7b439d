// Batch and undo in a format (contract section 14).

import type { EncodedResult } from "../../formats/batch-format.ts";
import type { Format } from "../../formats/format.ts";
import type { ErrorCode } from "../../model/errors.ts";
import { recordEtag } from "../../model/etag.ts";
import { maxBatchBytes, maxBatchOperations } from "../../model/limits.ts";
import { basePath, type Resource, valuesIn, writtenResources } from "../../model/resource.ts";
import { batchSchemaNames } from "../batch-schema.ts";
import type { Schema } from "../json-schema.ts";
import { commonProblems, contentOf, exampleJson, exampleMember, problemRefs, toExample } from "./bodies.ts";
import { headerRefs, headersOf, nameIn, type OpenapiOperation, ref, tagOf } from "./components.ts";
import { optionsOperation } from "./operations.ts";

export const batchTag = {
  plural: "batch requests",
  description:
    "Send thousands of operations in one request. Preview them with a dry run, store all or none, and undo them if they were wrong.",
} as const;

export function batchPathsOf(resources: readonly Resource[], format: Format): Record<string, Schema> {
  return {
    [`${basePath}batch.${format.name}`]: {
      post: batchOperation(resources, format),
      options: optionsOperation(batchTag, format, "Batch"),
    },
    [`${basePath}undo.${format.name}`]: {
      post: undoOperation(resources, format),
      options: optionsOperation(batchTag, format, "Undo"),
    },
  };
}

export function batchParameters(resources: readonly Resource[]): Record<string, Schema> {
  const written = writtenResources(resources);
  const paths = new Set(written.flatMap(({ textFields }) => textFields.map(({ path }) => path)));
  return {
    BatchMatch: {
      name: "match",
      in: "query",
      description:
        "A field, such as `AccountNumber`. A PUT without an ID then updates the record whose field has the same value as in `Record`, or creates one if there is none.",
      schema: { type: "string", enum: [...paths] },
    },
    BatchAtomic: {
      name: "atomic",
      in: "query",
      description:
        "`0`: operations succeed or fail independently; failures return a `Problem`. By default, all are stored or none.",
      schema: { type: "string", enum: ["0", "1"], default: "1" },
    },
  };
}

/** In addition to `commonProblems`. */
const writeProblems: readonly ErrorCode[] = [
  "not-found",
  "method-not-allowed",
  "conflict",
  "too-large",
  "unsupported-media-type",
  "idempotency-key-reused",
];

function batchOperation(resources: readonly Resource[], format: Format): OpenapiOperation {
  const parameters = ["BatchMatch", "dryRun", "BatchAtomic", "Idempotency-Key"];
  const response = toExample(format, exampleResults(resources, format));
  return {
    operationId: nameIn(format, "sendBatch"),
    summary: "Send a batch request",
    description: `Stores up to ${maxBatchOperations.toLocaleString("en-GB")} operations, in a body of up to ${maxBatchBytes >> 20} MiB. It counts as one request for the rate limit, plus one per 100 operations. If any operation is rejected, nothing is stored, and \`errors\` lists up to 100 errors with their operation numbers.`,
    tags: [tagOf(batchTag, format)],
    parameters: parameters.map((name) => ref("parameters", name)),
    requestBody: { required: true, content: requestContent(resources, format) },
    responses: {
      200: {
        description: "The results, in the same order as the operations. Save `Run`; you need it to undo the batch.",
        headers: headerRefs(headersOf.batch),
        content: contentOf(format, ref("schemas", batchSchemaNames.response), response),
      },
      ...problemRefs([...commonProblems, ...writeProblems, "precondition-failed"], format),
    },
  };
}

function undoOperation(resources: readonly Resource[], format: Format): OpenapiOperation {
  const [resource] = resources;
  const skipped = resource ? [{ resource, id: 12, revision: 31 }] : [];
  const undone = { run: "Vb72kQ0x-40-7", deleted: 2, restored: 5, unchanged: 0, skipped };
  return {
    operationId: nameIn(format, "undoRun"),
    summary: "Undo a run",
    description:
      "Reverses a batch request or an undo that was sent with the same API key. Skips and lists records that anyone has changed since. Preview it with `dryRun=1`.",
    tags: [tagOf(batchTag, format)],
    parameters: ["dryRun", "Idempotency-Key"].map((name) => ref("parameters", name)),
    requestBody: {
      required: true,
      content: contentOf(
        format,
        ref("schemas", batchSchemaNames.undo),
        toExample(format, undoExamples[format.name] as string),
      ),
    },
    responses: {
      200: {
        description: "How many records were deleted and restored, and which were skipped.",
        headers: headerRefs(headersOf.batch),
        content: contentOf(
          format,
          ref("schemas", batchSchemaNames.undone),
          toExample(format, format.batch.undone(undone)),
        ),
      },
      ...problemRefs([...commonProblems, ...writeProblems, "gone"], format),
    },
  };
}

const undoExamples: Readonly<Record<string, string>> = {
  json: '{"Run":"k3J9aZ0q-18-3"}',
  xml: '<?xml version="1.0" encoding="utf-8"?>\n<Undo Run="k3J9aZ0q-18-3"/>',
};

/** The example without IDs, which works on any site. */
export const createsName = "creates";

function requestContent(resources: readonly Resource[], format: Format): Schema {
  const examples = {
    operations: { summary: "Each method", value: exampleBatch(format, exampleOperations(resources)) },
    [createsName]: { summary: "New records", value: exampleBatch(format, exampleOperations(resources).slice(0, 1)) },
  };
  const schema = ref("schemas", batchSchemaNames.request);
  const [type] = Object.keys(contentOf(format, schema, undefined)) as [string];
  return { [type]: { schema, [exampleMember(format, "examples")]: examples } };
}

interface ExampleOperation {
  readonly method: string;
  readonly resource: Resource;
  /** Absent for a new record. */
  readonly id?: number;
  readonly hasCondition?: boolean;
  /** The fields in the record; absent for a delete. */
  readonly fields?: Readonly<Record<string, string>>;
}

/** One operation per method. */
function exampleOperations(resources: readonly Resource[]): ExampleOperation[] {
  const written = writtenResources(resources);
  const [first, last = first] = [written[0], written.at(-1)];
  if (!first || !last) return [];
  const [field] = first.textFields;
  const changed = field ? { [field.path]: `${field.field.example} Ltd` } : {};
  return [
    { method: "POST", resource: last, fields: requiredExamples(last) },
    { method: "PUT", resource: first, id: 1, hasCondition: true, fields: changed },
    { method: "DELETE", resource: last, id: 1 },
  ];
}

/** Examples of required fields outside groups. */
function requiredExamples({ textFields }: Resource): Record<string, string> {
  const required = textFields.filter(({ keys, field }) => field.required && keys.length === 1);
  return Object.fromEntries(required.map(({ path, field }) => [path, field.example]));
}

function exampleBatch(format: Format, operations: readonly ExampleOperation[]): unknown {
  if (format.name !== "json") {
    const elements = operations.map((operation) => operationElement(format, operation));
    return toExample(format, `${format.documentStart}<Batch>${elements.join("")}</Batch>`);
  }
  const list = operations.map(({ method, resource, id, hasCondition, fields }) => ({
    Method: method,
    Resource: resource.path,
    ...(id === undefined ? {} : { ID: id }),
    ...(hasCondition ? { IfMatch: exampleEtag(resource, format) } : {}),
    ...(fields ? { Record: fields } : {}),
  }));
  return { Operations: list };
}

function operationElement(format: Format, { method, resource, id, hasCondition, fields }: ExampleOperation): string {
  const etag = exampleEtag(resource, format).replaceAll('"', "&quot;");
  const attributes = `${id === undefined ? "" : ` ID="${id}"`}${hasCondition ? ` IfMatch="${etag}"` : ""}`;
  const start = `<Operation Method="${method}" Resource="${resource.path}"${attributes}`;
  if (!fields) return `${start}/>`;
  return `${start}>${format.part(resource, { ID: 1, ...fields }).replace(' ID="1"', "")}</Operation>`;
}

/** The response to `exampleOperations`. */
function exampleResults(resources: readonly Resource[], { name, batch }: Format): string {
  const results = exampleOperations(resources).map(({ method, resource, id = 2, fields }, index): EncodedResult => {
    const isNew = method === "POST";
    const etag = method === "DELETE" ? {} : { etag: recordEtag(resource, name, "k3f9a1Zq", 18 + index) };
    const stored = isNew ? {} : JSON.parse(exampleJson(resource));
    const record = JSON.stringify({ ID: id, ...valuesIn(resource.fields, { ...stored, ...fields }) });
    return { status: isNew ? 201 : 200, changed: true, ...etag, resource, record };
  });
  return batch.start("k3J9aZ0q-18-3") + results.map(batch.result).join(batch.separator) + batch.end;
}

function exampleEtag(resource: Resource, { name }: Format): string {
  return recordEtag(resource, name, "k3f9a1Zq", 17);
}
