// The operations that store a batch request and undo a run, in a format (contract section 14).

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

/** The name and description of batch requests, as resources have them. */
export const batchTag = {
  plural: "batch requests",
  description:
    "Thousands of operations in one request: looked at in a dry run, stored all or none, and undone if they were wrong.",
} as const;

/** Returns the paths of batch requests and of undo in `format`, with their operations. */
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

/** Returns the parameters of batch requests and of undo, for `components.parameters`. */
export function batchParameters(resources: readonly Resource[]): Record<string, Schema> {
  const written = writtenResources(resources);
  const paths = new Set(written.flatMap(({ textFields }) => textFields.map(({ path }) => path)));
  return {
    BatchMatch: {
      name: "match",
      in: "query",
      description:
        "A field, such as `AccountNumber`. A PUT without an ID then changes the one record that has the value of this field in `Record`, or creates a record if none has it.",
      schema: { type: "string", enum: [...paths] },
    },
    BatchAtomic: {
      name: "atomic",
      in: "query",
      description:
        "`0`: each operation is stored or rejected by itself, and the result of a rejected one is its problem. By default, all are stored, or none.",
      schema: { type: "string", enum: ["0", "1"], default: "1" },
    },
  };
}

/** Problems that both operations can have, in addition to `commonProblems`. */
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
    description: `Stores at most ${maxBatchOperations.toLocaleString("en-GB")} operations from a body of at most ${maxBatchBytes >> 20} MiB. The rate limit counts one request, and one more for each 100 operations. If an operation is rejected, nothing is stored, and \`errors\` of the problem has the faults by the numbers of the operations, at most 100.`,
    tags: [tagOf(batchTag, format)],
    parameters: parameters.map((name) => ref("parameters", name)),
    requestBody: { required: true, content: requestContent(resources, format) },
    responses: {
      200: {
        description: "The results, in the order of the operations. Keep `Run`: with it, the batch can be undone.",
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
      "Takes back a batch request with the same API key, or an undo. Records that anybody changed later are left alone and listed. Look first with `dryRun=1`.",
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
        description: "The numbers of records, and the records that were left alone.",
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

/** The name of the example of a batch request that names no record, and so can be sent to any site. */
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

/** Returns an operation of each method. */
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

/** Returns the examples of the required fields outside of groups. */
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

/** Returns the response to the operations of the example. */
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
