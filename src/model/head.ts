export interface Head {
  /** The number of the last change; 0 if there's none. */
  readonly revision: number;
  /** Identifies the lineage of the revisions. A restore replaces it: the same revision in another epoch is a different change. */
  readonly epoch: string;
  /**
   * Increases when another machine takes over. That machine may lack the last changes, so the same revision on another timeline may be a different
   * change. Undefined for an engine whose database can't be taken over.
   */
  readonly timeline?: number | undefined;
}

/** A snapshot's head changes in place, so keep a copy if you store it, or use it after an await. */
export function copyHead({ revision, epoch, timeline }: Head): Head {
  return { revision, epoch, timeline };
}

/** Returns the epoch that must not change before a write is stored. Without changes, the site may not have one yet. */
export function epochToKeep({ revision, epoch }: Head): string | undefined {
  return revision === 0 ? undefined : epoch;
}

/** On another timeline, the same revision may be a different change. */
export function isSameHead(one: Head, other: Head): boolean {
  return one.epoch === other.epoch && one.revision === other.revision && one.timeline === other.timeline;
}
