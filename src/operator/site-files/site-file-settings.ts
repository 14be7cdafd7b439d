// Validates the settings and keys in a site file.

import { isPartialKey, isSandboxKey } from "../../model/api-key.ts";
import { fault, invalidRecordError } from "../../model/errors.ts";
import { parseHostname } from "../../model/hostname.ts";
import { parseNewRecord, parseRecordChanges, type Values } from "../../model/record.ts";
import { key as keyResource } from "../../resources/key.ts";
import { site as siteResource } from "../../resources/site.ts";
import { requireTime, type SystemRecordInFile } from "./site-file-rows.ts";

export interface ImportedSettings {
  readonly name: string;
  readonly hostnames: readonly string[];
  readonly isDefault: boolean;
  readonly suspended: string;
  readonly keyWebhooks: string;
  /** Empty in files from early versions. */
  readonly identity: string;
}

export interface ImportedKey {
  /** Its ID in the file. */
  readonly id: number;
  readonly values: Values;
}

/** @param name replaces the name in the file @throws ProblemError `invalid-record` */
export function parseSettings({ values }: SystemRecordInFile, name: string | undefined): ImportedSettings {
  const { Name, Hostnames = "", Default = "", Suspended = "", KeyWebhooks = "", UID = "" } = values;
  const read = parseRecordChanges(siteResource, {
    Name: name ?? Name,
    Hostnames,
    Default,
    Suspended,
    KeyWebhooks,
    UID,
  }).values;
  const text = (field: string) => String(read[field]);
  requireTime("Suspended", read);
  const hostnames = text("Hostnames")
    .split(" ")
    .filter((host) => host !== "")
    .map(parseHostname);
  const [suspended, identity] = [text("Suspended"), text("UID")];
  return {
    name: text("Name"),
    hostnames,
    isDefault: read.Default !== "",
    suspended,
    keyWebhooks: text("KeyWebhooks"),
    identity,
  };
}

/** @throws ProblemError `invalid-record` */
export function parseKey({ id, values }: SystemRecordInFile): ImportedKey {
  const read = parseNewRecord(keyResource, values);
  for (const field of ["Created", "Expires", "Revoked"]) requireTime(field, read);
  const prefix = String(read.Prefix);
  if (!isPartialKey(prefix) || isSandboxKey(prefix))
    throw invalidRecordError([{ field: "Prefix", ...fault("invalid", "use the prefix of a key of a live site") }]);
  return { id, values: read };
}
