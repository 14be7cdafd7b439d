// Finds the matters that need attention, from the overview of the site and the traffic of the server. site-state.tsx shows them.

import type { OverviewResponse } from "../../admin/api/types.ts";
import { useSiteName } from "../shell/site-context.ts";
import { toNumber } from "../text/locale.ts";
import { serverNow } from "../text/server-time.ts";
import { toDay, toMoment, withMoments } from "../text/times.ts";
import { translate } from "../text/translate.ts";
import { useTraffic } from "./overview.ts";

/** A matter that the operator should know, or do something about. */
interface Concern {
  readonly name: string;
  readonly text: string;
  /** Whether it is a warning: something is wrong, or soon will be. */
  readonly isWarning: boolean;
  /** The page where the operator can do something about it. */
  readonly to?: string;
  readonly action?: string;
}

/** Milliseconds after which a backup counts as old: two days. */
const maxBackupAgeMs = 2 * 24 * 60 * 60_000;

/** Returns the matters to show for a site, warnings first. */
export function useConcerns(overview: OverviewResponse): readonly Concern[] {
  const failed = useFailedRequests();
  const webhooks = useWebhookConcerns(overview);
  const keys = useKeyConcerns(overview);
  const backup = findBackupConcerns(overview);
  const all = [...failed, ...webhooks, ...keys, ...backup];
  return all.sort((one, other) => Number(other.isWarning) - Number(one.isWarning));
}

function useFailedRequests(): Concern[] {
  const failed = useTraffic().data?.reduce((sum, { errors }) => sum + errors, 0) ?? 0;
  if (failed === 0) return [];
  const text = translate("overview.failed", { smart_count: failed, count: toNumber(failed) });
  return [{ name: "failed", text, isWarning: true }];
}

function useWebhookConcerns({ webhooks }: OverviewResponse): Concern[] {
  const siteName = useSiteName();
  const link = { to: `/${siteName}/webhooks`, action: translate("overview.to_webhooks") };
  return webhooks.flatMap(({ id, url, status, detail }) => {
    if (status === "active") return [];
    const text = translate(`overview.webhook_${status}`, { url: shortened(url), detail: withMoments(detail) });
    return [{ name: `webhook ${id}`, text, isWarning: status !== "paused", ...link }];
  });
}

/** Maximum length of a shown URL, in characters. */
const maxUrlLength = 50;

/** Shortens a URL for display: without the scheme, without query and fragment (which often contain secrets), and cut to the maximum length. */
function shortened(url: string): string {
  const [path = ""] = url.replace(/^https?:\/\//, "").split(/[?#]/);
  return path.length > maxUrlLength ? `${path.slice(0, maxUrlLength)}…` : path;
}

function useKeyConcerns({ endingKeys, validKeys, records }: OverviewResponse): Concern[] {
  const siteName = useSiteName();
  const link = { to: `/${siteName}/keys`, action: translate("overview.to_keys") };
  const hasRecords = Object.values(records).some((count) => count > 0);
  const none = { name: "no key", text: translate("overview.no_key"), isWarning: false, ...link };
  const ending = endingKeys.map(({ id, label, prefix, ends }) => ({
    name: `key ${id}`,
    text: translate("overview.key", { key: label || `${prefix}…`, day: toDay(ends) }),
    isWarning: true,
    ...link,
  }));
  return hasRecords && validKeys === 0 ? [...ending, none] : ending;
}

function findBackupConcerns({ lastBackup }: OverviewResponse): Concern[] {
  if (lastBackup === null) return [{ name: "backup", text: translate("overview.no_backup"), isWarning: false }];
  // Also warn if the time is far in the future, because it was stored with a wrong clock.
  if (Math.abs(serverNow() - Date.parse(lastBackup)) <= maxBackupAgeMs) return [];
  return [{ name: "backup", text: translate("overview.old_backup", { time: toMoment(lastBackup) }), isWarning: true }];
}
