import { type Steps, slices } from "../../lib/slices.ts";
import type { RecordRow, SiteContents } from "../../model/engine.ts";
import { toDeclaredJson } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { Block } from "./block.ts";
import { maxBlockRecords } from "./block-list.ts";
import { Collection } from "./collection.ts";
import type { MemoryRecord } from "./memory-record.ts";
import { Snapshot } from "./snapshot.ts";

/** Builds a site's snapshot from its rows in the database, in slices. */
export async function buildSnapshot(
  site: number,
  { head, last, rowChunks }: SiteContents,
  resources: readonly Resource[],
): Promise<Snapshot> {
  const loader = new SiteLoader(resources);
  if (Symbol.asyncIterator in rowChunks) await addAllRowsAsync(loader, rowChunks);
  else await slices.run(addAllRows(loader, rowChunks));
  return new Snapshot(site, head, resources, loader.collections(), last);
}

function* addAllRows(loader: SiteLoader, rowChunks: Iterable<readonly RecordRow[]>): Steps<void> {
  for (const chunk of rowChunks) {
    yield* loader.add(chunk);
    yield;
  }
}

async function addAllRowsAsync(loader: SiteLoader, rowChunks: AsyncIterable<readonly RecordRow[]>): Promise<void> {
  for await (const chunk of rowChunks) await slices.run(loader.add(chunk));
}

/** What was added of a resource so far. */
interface Loading {
  readonly resource: Resource;
  readonly blocks: Block[];
  /** For the next block. */
  records: MemoryRecord[];
  revision: number;
}

/** Builds a site's collections from its rows, with only one chunk of rows in memory at a time. */
class SiteLoader {
  readonly #resources: readonly Resource[];
  readonly #loading = new Map<string, Loading>();

  constructor(resources: readonly Resource[]) {
    this.#resources = resources;
  }

  /** Rows of a resource must come in ID order. */
  *add(rows: readonly RecordRow[]): Steps<void> {
    for (const { resource, id, revision, body } of rows) {
      const loading = this.#of(resource);
      if (!loading) continue;
      loading.revision = Math.max(loading.revision, revision);
      if (body === null) continue;
      loading.records.push({ id, revision, json: toDeclaredJson(loading.resource, body) });
      if (loading.records.length < maxBlockRecords) continue;
      closeBlock(loading);
      yield;
    }
  }

  /** Returns the collections of the resources that have rows, by name. Call it once, after the last row. */
  collections(): Map<string, Collection> {
    const collections = new Map<string, Collection>();
    for (const [name, loading] of this.#loading) {
      closeBlock(loading);
      collections.set(name, new Collection(loading.resource, loading.blocks, loading.revision));
    }
    return collections;
  }

  /** Returns undefined for a resource that only another version of the program has. */
  #of(name: string): Loading | undefined {
    const found = this.#loading.get(name);
    const resource = found ? undefined : this.#resources.find((one) => one.name === name);
    if (!resource) return found;
    const loading = { resource, blocks: [], records: [], revision: 0 };
    this.#loading.set(name, loading);
    return loading;
  }
}

function closeBlock(loading: Loading): void {
  if (loading.records.length === 0) return;
  loading.blocks.push(new Block(loading.resource, loading.records));
  loading.records = [];
}
