// Makes and renews the sandbox of a site.

import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { SiteRecord } from "../../system/system-records.ts";

/** A sandbox that was made or renewed. */
export interface MadeSandbox {
  readonly site: SiteRecord;
  readonly live: SiteRecord;
  /** Whether the site had no sandbox before. */
  readonly isNew: boolean;
  /** The number of copied records. */
  readonly records: number;
  readonly keys: number;
  readonly webhooks: number;
  /** Why the records of the former sandbox are not all deleted yet; undefined if they are. */
  readonly leftover: string | undefined;
}

interface MakeSandboxOptions {
  /** Stops the work. The former sandbox stays as it was. */
  readonly signal?: AbortSignal;
  /** Returns the present time in milliseconds since 1970. */
  readonly now: () => number;
  /** Gets the number of records that are copied so far. */
  readonly onRecords?: (count: number) => void;
}

/** Makes or renews the sandbox of the site `name`. Not built yet: package B of the sandbox replaces this function. */
export async function makeSandbox(_engine: Engine, _name: string, _options: MakeSandboxOptions): Promise<MadeSandbox> {
  throw new ProblemError("unavailable", "sandboxes cannot be made yet");
}
