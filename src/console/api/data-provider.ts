// Reads and writes the records of a site for react-admin.

import type { DataProvider, Identifier } from "react-admin";
import type {
  DeletionBody,
  DeletionResponse,
  RecordResponse,
  RecordsResponse,
  WriteResponse,
  WrittenRecordResponse,
} from "../../admin/api/record-types.ts";
import { translate } from "../text/translate.ts";
import { callApi } from "./call-api.ts";
import type { UndoableWrite } from "./records.ts";
import { sitePath } from "./site-path.ts";

/** A record in the form that react-admin needs: `id` is its ID, `version` its version. */
interface ConsoleRecord {
  readonly id: number;
  readonly version: string;
  readonly [field: string]: unknown;
}

interface ListParameters {
  readonly pagination?: { readonly page: number; readonly perPage: number };
  readonly sort?: { readonly field: string; readonly order: string };
  readonly filter?: { readonly q?: string };
}

interface UpdateParameters {
  readonly id: Identifier;
  readonly data: object;
  readonly previousData?: Partial<ConsoleRecord>;
}

/**
 * Creates react-admin's data provider for a site.
 * @param maxSearchLength in characters; a longer search in the address of the page is cut
 * @param onWrite called after each write, so that the page can offer to undo it
 */
export function createDataProvider(
  siteName: string,
  maxSearchLength: number,
  onWrite: (write: UndoableWrite) => void,
): DataProvider {
  const provider = { ...createReads(siteName, maxSearchLength), ...createWrites(siteName, onWrite) };
  return provider as unknown as DataProvider;
}

function createReads(siteName: string, maxSearchLength: number) {
  const getOne = async (resource: string, { id }: { id: Identifier }) => ({
    data: toConsole(await callApi<RecordResponse>("GET", `${recordsPath(siteName, resource)}/${id}`)),
  });
  return {
    async getList(resource: string, parameters: ListParameters) {
      const path = `${recordsPath(siteName, resource)}?${toQuery(parameters, maxSearchLength)}`;
      const { records, total } = await callApi<RecordsResponse>("GET", path);
      return { data: records.map(toConsole), total };
    },
    getOne,
    async getMany(resource: string, { ids }: { ids: readonly Identifier[] }) {
      const found = await Promise.all(ids.map((id) => getOne(resource, { id })));
      return { data: found.map(({ data }) => data) };
    },
    getManyReference: notOffered,
  };
}

function createWrites(siteName: string, onWrite: (write: UndoableWrite) => void) {
  async function write<T extends WriteResponse>(
    kind: UndoableWrite["kind"],
    count: number,
    request: Promise<T>,
  ): Promise<T> {
    const result = await request;
    onWrite({ kind, count, run: result.run, ...(result.revisions ? { revisions: result.revisions } : {}) });
    return result;
  }
  const remove = (resource: string, ids: readonly Identifier[]) =>
    write(
      "deleted",
      ids.length,
      callApi<DeletionResponse>("DELETE", recordsPath(siteName, resource), { ids } satisfies DeletionBody),
    );
  return {
    async create(resource: string, { data }: { data: object }) {
      const request = callApi<WrittenRecordResponse>("POST", recordsPath(siteName, resource), toValues(data));
      return { data: toConsole(await write("created", 1, request)) };
    },
    async update(resource: string, { id, data, previousData }: UpdateParameters) {
      const headers: Record<string, string> = previousData?.version ? { "If-Match": `"${previousData.version}"` } : {};
      const path = `${recordsPath(siteName, resource)}/${id}`;
      const request = callApi<WrittenRecordResponse>("PATCH", path, toValues(data), headers);
      return { data: toConsole(await write("saved", 1, request)) };
    },
    async delete(resource: string, { id, previousData }: { id: Identifier; previousData?: object }) {
      await remove(resource, [id]);
      return { data: { ...previousData, id } };
    },
    async deleteMany(resource: string, { ids }: { ids: readonly Identifier[] }) {
      await remove(resource, ids);
      return { data: [...ids] };
    },
    updateMany: notOffered,
  };
}

/** Throws for functions of react-admin that the console does not offer. Otherwise the page would report success without a change. */
async function notOffered(): Promise<never> {
  throw new Error(translate("app.not_offered"));
}

function recordsPath(siteName: string, resource: string): string {
  return sitePath(siteName, `/records/${resource}`);
}

function toQuery({ pagination, sort, filter }: ListParameters, maxSearchLength: number): URLSearchParams {
  const { page = 1, perPage = 25 } = pagination ?? {};
  const query = new URLSearchParams({ limit: String(perPage), offset: String((page - 1) * perPage) });
  if (sort?.field) {
    query.set("sort", sort.field === "id" ? "ID" : sort.field);
    query.set("order", sort.order.toLowerCase());
  }
  if (filter?.q) query.set("search", filter.q.slice(0, maxSearchLength));
  return query;
}

function toConsole({ record, version }: RecordResponse): ConsoleRecord {
  return { ...record, id: record.ID, version };
}

/** Returns the fields of a form's values. */
function toValues(data: object): object {
  const { id: _, ID: __, version: ___, ...values } = data as Record<string, unknown>;
  return values;
}
