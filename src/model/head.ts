/** The last revision of a site's journal, and its epoch. */
export interface Head {
  /** The number of the last change; 0 before the first change. */
  readonly revision: number;
  /** Identifies the lineage of the site's revisions. A restore replaces it: equal revisions of two epochs are different changes. */
  readonly epoch: string;
  /**
   * Increases when another machine has taken over. That machine may lack the last changes, so equal revisions of two timelines may be different
   * changes. Undefined for an engine whose database no other machine can take over.
   */
  readonly timeline?: number | undefined;
}

/** Returns a copy of a head. The head of a snapshot advances in place, so a caller that keeps it, or awaits something, needs a copy. */
export function copyHead({ revision, epoch, timeline }: Head): Head {
  return { revision, epoch, timeline };
}

/** Returns the epoch that a site must keep until a write is stored. A site without changes may not have an epoch yet. */
export function epochToKeep({ revision, epoch }: Head): string | undefined {
  return revision === 0 ? undefined : epoch;
}

/** Whether two heads have the same epoch, revision and timeline. On another timeline, the same revision may be another change. */
export function isSameHead(one: Head, other: Head): boolean {
  return one.epoch === other.epoch && one.revision === other.revision && one.timeline === other.timeline;
}
