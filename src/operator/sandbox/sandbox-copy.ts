// The copy that becomes a sandbox: reserves its site, and makes the errors of a copy that cannot be published.

import type { Engine } from "../../model/engine.ts";
import { ProblemError } from "../../model/errors.ts";
import type { Head } from "../../model/head.ts";
import { systemSite } from "../../model/system-site.ts";
import { site as siteResource } from "../../resources/site.ts";
import { toCreateIntent } from "../../system/system-changes.ts";
import type { SiteRecord } from "../../system/system-records.ts";
import { beingMadeError, findReservedSandbox, findSandboxRecord, requireSandboxName } from "../sites/sandboxes.ts";
import { reservedUntil } from "../sites/site-reservation.ts";
import { listSites, requireUnusedNames, updateSites } from "../sites/sites.ts";

/** A copy of a live site that is not published yet. */
export interface SandboxCopy {
  /** The ID of its reserved site. */
  readonly id: number;
  readonly live: SiteRecord;
  /** The sandbox that it replaces; undefined for the first one. */
  readonly former: SiteRecord | undefined;
}

/**
 * Reserves a site for the copy. The site of the first copy has the name of the sandbox at once, so that the name is taken.
 * @throws ProblemError `not-found` if the live site was removed; `conflict` if another copy is being made, or the name is taken or too long
 */
export async function reserveCopy(engine: Engine, { ID, Name }: SiteRecord, now: number): Promise<SandboxCopy> {
  let known: Omit<SandboxCopy, "id"> | undefined;
  const { ID: id } = await updateSites(engine, (sites, { nextSiteId }) => {
    const live = sites.find((site) => site.ID === ID);
    if (!live) throw new ProblemError("not-found", `the site \`${Name}\` was removed`);
    const reserved = findReservedSandbox(sites, live);
    if (reserved) throw beingMadeError(reserved, sites);
    const name = requireSandboxName(sites, live);
    const former = findSandboxRecord(sites, live);
    const ownName = former ? `sandbox-of-${ID}-being-made` : name;
    if (former) requireUnusedNames(sites, undefined, { Name: ownName });
    known = { live, former };
    const values = { Name: ownName, SandboxOf: String(ID), Importing: reservedUntil(now) };
    return [toCreateIntent(siteResource, values, now, nextSiteId)];
  });
  return { ...(known as Omit<SandboxCopy, "id">), id };
}

/** Finds the reserved site of a copy. Returns undefined if it was removed. */
export function findReserved(sites: readonly SiteRecord[], { id, live }: SandboxCopy): SiteRecord | undefined {
  return sites.find((site) => site.ID === id && site.SandboxOf === String(live.ID) && site.Importing !== "");
}

/** The heads of the system site and of the reserved site. */
export interface CopyHeads {
  readonly system: Head;
  readonly own: Head;
}

export async function readCopyHeads(engine: Engine, { id }: SandboxCopy): Promise<CopyHeads> {
  const [system, own] = (await engine.readHeads([systemSite, id])) as [Head, Head];
  return { system, own };
}

/** Returns the error for a copy that cannot continue, because a site of it was removed, or the database replaced or lost its rows. */
export async function lostCopyError(engine: Engine, { live }: SandboxCopy): Promise<ProblemError> {
  return lostError(live, await listSites(engine));
}

/** As `lostCopyError`, with the present sites. */
export function lostError({ ID, Name }: SiteRecord, sites: readonly SiteRecord[]): ProblemError {
  const present = sites.find((site) => site.ID === ID);
  const lost = present
    ? `the sandbox of \`${present.Name}\` was removed while it was made, or the database was restored or renewed`
    : `the site \`${Name}\` was removed while its sandbox was made`;
  return new ProblemError("conflict", `${lost}; nothing of the copy is left`);
}

/** Returns the error for a copy that was stopped by a signal. */
export function stoppedCopyError({ live, former }: SandboxCopy): ProblemError {
  const rest = former ? `the sandbox of \`${live.Name}\` is as before` : "nothing of the sandbox is left";
  return new ProblemError("conflict", `it was stopped: ${rest}`);
}
