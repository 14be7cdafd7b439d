// The records that a system site has and had, for the comparison in restrictions.ts of the system sites before and after a restore. A deleted record is
// included with its last values.

import type { StoredSystem, StoredSystemRecord } from "../../model/amend.ts";
import { toDeclaredJson } from "../../model/record.ts";
import type { Resource } from "../../model/resource.ts";
import { key as keyResource } from "../../resources/key.ts";
import { operator as operatorResource } from "../../resources/operator.ts";
import { site as siteResource } from "../../resources/site.ts";
import { webhook as webhookResource } from "../../resources/webhook.ts";
import type { KeyRecord, OperatorRecord, SiteRecord, WebhookRecord } from "../../system/system-records.ts";

/** A record of the replaced or the restored system site. */
interface Known<T> {
  readonly record: T;
  readonly revision: number;
  /** The time and the run of its deletion; undefined if the record exists. */
  readonly deleted: { readonly at: number; readonly run: string | null } | undefined;
}

/** The records of a system site, by resource. Deleted records are included as far as the journal still contains them. */
export class KnownSystem {
  readonly keys: readonly Known<KeyRecord>[];
  readonly operators: readonly Known<OperatorRecord>[];
  readonly webhooks: readonly Known<WebhookRecord>[];
  readonly sites: readonly Known<SiteRecord>[];
  readonly #sitesById: ReadonlyMap<number, Known<SiteRecord>>;

  constructor({ records }: StoredSystem) {
    const byResource = Map.groupBy(records, ({ resource }) => resource);
    const known = <T>(resource: Resource) =>
      (byResource.get(resource.name) ?? []).flatMap((row) => toKnown<T>(resource, row));
    this.keys = known(keyResource);
    this.operators = known(operatorResource);
    this.webhooks = known(webhookResource);
    this.sites = known<SiteRecord>(siteResource);
    this.#sitesById = new Map(this.sites.map((site) => [site.record.ID, site]));
  }

  /**
   * Returns a text that identifies a site. A sandbox gets another ID when it is renewed, but keeps this text.
   * @param id the ID of the site, in digits
   */
  ownerOf(id: string): string {
    const live = this.#sitesById.get(Number(id))?.record.SandboxOf;
    return live ? `sandbox of ${live}` : id;
  }

  /** Whether a webhook was deleted together with its site, or later because the removal had left it. */
  wasRemovedWithSite({ record: { Site }, revision, deleted }: Known<WebhookRecord>): boolean {
    const site = this.#sitesById.get(Number(Site));
    if (!site?.deleted || !deleted) return false;
    return revision > site.revision || (deleted.at === site.deleted.at && deleted.run === site.deleted.run);
  }
}

/** Returns the records that were not deleted. */
export function present<T>(known: readonly Known<T>[]): T[] {
  return known.flatMap(({ record, deleted }) => (deleted ? [] : [record]));
}

/** Returns one record for each name: the existing record, otherwise the record that was deleted last. */
export function latestBy<T>(known: readonly Known<T>[], nameOf: (record: T) => string): ReadonlyMap<string, Known<T>> {
  const inOrder = known.toSorted((a, b) => Number(!a.deleted) - Number(!b.deleted) || a.revision - b.revision);
  return new Map(inOrder.map((one) => [nameOf(one.record), one]));
}

function toKnown<T>(resource: Resource, { body, revision, deleted }: StoredSystemRecord): Known<T>[] {
  const text = body ?? deleted?.body;
  if (text === undefined) return [];
  const record = JSON.parse(toDeclaredJson(resource, text)) as T;
  return [{ record, revision, deleted: body === null && deleted ? deleted : undefined }];
}
