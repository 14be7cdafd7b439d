// A site's state: everything that needs attention, each with an action, and the worst level among them.

import { Box, Button, Card, List, ListItem, Stack, Link as TextLink, Typography } from "@mui/material";
import { useState } from "react";
import type { KeyTrafficResponse, OverviewResponse, TrafficPointInfo } from "../../admin/api/types.ts";
import { labelOfKey, requestsOfKeyPath } from "../keys/keys.ts";
import { DialogFrame } from "../shell/dialog-frame.tsx";
import { DoneIcon, ErrorIcon, InfoIcon, WarningIcon } from "../shell/icons.tsx";
import { Link } from "../shell/router.tsx";
import { useCan, useDeclared, useSession, useSiteName } from "../shell/site-context.ts";
import { toNumber } from "../text/locale.ts";
import { serverNow } from "../text/server-time.ts";
import { localizeTimes, toAgo, toDay, toMoment } from "../text/times.tsx";
import { translate } from "../text/translate.ts";

/** Errors: something is failing. Warnings: something will fail, or was neglected. Info: something is unfinished. */
const levels = ["error", "warning", "info"] as const;

interface Concern {
  readonly name: string;
  readonly text: string;
  readonly level: (typeof levels)[number];
  /** The button's text, which says what the operator can do. */
  readonly action: string;
  /** The page where they can do it; undefined for the dialog about backups. */
  readonly to?: string;
}

const maxBackupAgeMs = 2 * 24 * 60 * 60_000;

/** The data that concerns are derived from. The last two are undefined if the operator can't read them, or if the read failed. */
interface Known {
  readonly overview: OverviewResponse;
  readonly keyTraffic: KeyTrafficResponse | undefined;
  readonly traffic: readonly TrafficPointInfo[] | undefined;
}

/**
 * Returns a site's concerns, worst first. Operators who can't see the settings get none about them, and operators who can't change them are only
 * pointed there. Only those who may look after the whole server are told to back it up.
 */
function useConcerns(known: Known): readonly Concern[] {
  const siteName = useSiteName();
  const { sites } = useSession();
  const [canSeeSettings, canChangeSettings] = [useCan("read-settings"), useCan("settings")];
  function ofSettings(concerns: readonly Concern[]): readonly Concern[] {
    if (!canSeeSettings) return [];
    if (canChangeSettings) return concerns;
    return concerns.map((concern) => ({ ...concern, action: translate("overview.webhook_incomplete_action") }));
  }
  const all = [
    ...findFailedRequests(known, siteName),
    ...ofSettings(findWebhookConcerns(known.overview, siteName)),
    ...(canChangeSettings && sites === null ? findBackupConcerns(known.overview) : []),
    ...ofSettings(findKeyConcerns(known.overview, siteName)),
    ...findRejectedKeys(known, siteName),
  ];
  return all.sort((one, other) => levels.indexOf(one.level) - levels.indexOf(other.level));
}

function findFailedRequests({ traffic = [] }: Known, siteName: string): Concern[] {
  const failed = traffic.reduce((sum, { errors }) => sum + errors, 0);
  if (failed === 0) return [];
  const text = translate("overview.failed", { smart_count: failed, count: toNumber(failed) });
  const link = { to: `/${siteName}/requests?status=5`, action: translate("overview.to_requests") };
  return [{ name: "failed", text, level: "error", ...link }];
}

function findWebhookConcerns({ webhooks }: OverviewResponse, siteName: string): Concern[] {
  const level = { failing: "error", incomplete: "warning", paused: "info", active: undefined } as const;
  return webhooks.flatMap(({ id, url, status, detail }) => {
    if (status === "active") return [];
    const text = translate(`overview.webhook_${status}`, { url: shortenUrl(url), detail: localizeTimes(detail) });
    const action = translate(`overview.webhook_${status}_action`);
    return [{ name: `webhook ${id}`, text, level: level[status], to: `/${siteName}/webhooks`, action }];
  });
}

const maxUrlLength = 50;

/** Shortens a URL for display: drops the scheme, and the query and fragment (which often contain secrets), and cuts it to the maximum length. */
function shortenUrl(url: string): string {
  const [path = ""] = url.replace(/^https?:\/\//, "").split(/[?#]/);
  return path.length > maxUrlLength ? `${path.slice(0, maxUrlLength)}…` : path;
}

function findKeyConcerns({ endingKeys, validKeys, records }: OverviewResponse, siteName: string): Concern[] {
  const to = `/${siteName}/keys`;
  const ending = endingKeys.map((key) => ({
    name: `key ${key.id}`,
    text: translate("overview.key", { key: labelOfKey(key), day: toDay(key.expires ?? "") }),
    level: "warning" as const,
    to,
    action: translate("overview.key_action"),
  }));
  const action = translate("keys.make");
  const none = { name: "no key", text: translate("overview.no_key"), level: "info" as const, to, action };
  return hasRecords(records) && validKeys === 0 ? [...ending, none] : ending;
}

export function hasRecords(records: OverviewResponse["records"]): boolean {
  return Object.values(records).some((count) => count > 0);
}

/** A key is reported if at least this many, and this share, of its requests in the last day failed. */
const [minErrors, minErrorShare] = [10, 0.5];

function findRejectedKeys({ keyTraffic }: Known, siteName: string): Concern[] {
  const keys = keyTraffic?.keys ?? [];
  return keys
    .filter(({ requests, errors }) => errors >= minErrors && errors >= requests * minErrorShare)
    .map(({ requests, errors, ...key }) => ({
      name: `requests of key ${key.id}`,
      text: translate("overview.key_errors", {
        key: labelOfKey(key),
        errors: toNumber(errors),
        requests: toNumber(requests),
      }),
      level: "info" as const,
      to: requestsOfKeyPath(siteName, key.prefix),
      action: translate("overview.to_requests"),
    }));
}

function findBackupConcerns({ lastBackup, records }: OverviewResponse): Concern[] {
  const action = translate("overview.backup_action");
  if (lastBackup === null) {
    const level = hasRecords(records) ? "warning" : "info";
    return [{ name: "backup", text: translate("overview.no_backup"), level, action }];
  }
  // Also warn if the time is far in the future: it was stored with a wrong clock.
  if (Math.abs(serverNow() - Date.parse(lastBackup)) <= maxBackupAgeMs) return [];
  const text = translate("overview.old_backup", { time: toMoment(lastBackup) });
  return [{ name: "backup", text, level: "warning", action }];
}

const icons = { error: ErrorIcon, warning: WarningIcon, info: InfoIcon } as const;

export function SiteState(known: Known) {
  const concerns = useConcerns(known);
  const [isBackupShown, setBackupShown] = useState(false);
  const worst = concerns[0]?.level;
  const Icon = worst ? icons[worst] : DoneIcon;
  const count = { smart_count: concerns.length };
  const { lastBackup } = known.overview;
  return (
    <Card sx={{ mb: 2 }}>
      <Stack direction="row" spacing={1.5} sx={{ p: 2, alignItems: "center" }}>
        <Icon color={worst ?? "success"} sx={{ fontSize: 28 }} />
        <Box>
          <Typography component="h2" variant="subtitle1">
            {worst
              ? translate(worst === "info" ? "overview.hints" : "overview.concerns", count)
              : translate("overview.well")}
          </Typography>
          {lastBackup && (
            <Typography variant="body2" color="textSecondary">
              {translate("overview.last_backup", { time: toAgo(lastBackup, serverNow()) })}
            </Typography>
          )}
        </Box>
      </Stack>
      {concerns.length > 0 && (
        <List disablePadding>
          {concerns.map((concern) => (
            <ConcernLine key={concern.name} concern={concern} onBackup={() => setBackupShown(true)} />
          ))}
        </List>
      )}
      {isBackupShown && <BackupDialog onClose={() => setBackupShown(false)} />}
    </Card>
  );
}

interface ConcernLineProps {
  readonly concern: Concern;
  readonly onBackup: () => void;
}

/** A concern with its button, which goes below the text on a phone. */
function ConcernLine({ concern: { text, level, to, action }, onBackup }: ConcernLineProps) {
  const Icon = icons[level];
  const look = { size: "small", variant: "outlined", "aria-label": `${action}: ${text}` } as const;
  const place = { flexShrink: 0, ml: { xs: 4, sm: 0 } };
  return (
    <ListItem sx={lineStyle}>
      <Icon color={level} fontSize="small" titleAccess={translate(`overview.level_${level}`)} />
      <Typography
        variant="body2"
        sx={{ flex: { xs: "1 1 calc(100% - 32px)", sm: "1 1 0" }, minWidth: 0, overflowWrap: "anywhere" }}
      >
        {text}
      </Typography>
      {to ? (
        <Button component={Link} to={to} sx={place} {...look}>
          {action}
        </Button>
      ) : (
        <Button onClick={onBackup} sx={place} {...look}>
          {action}
        </Button>
      )}
    </ListItem>
  );
}

const lineStyle = {
  columnGap: 1.5,
  rowGap: 0.5,
  flexWrap: { xs: "wrap", sm: "nowrap" },
  borderTop: 1,
  borderColor: "divider",
  px: 2,
  py: 0.75,
  minHeight: 48,
} as const;

/** Explains how to make a backup, which only whoever runs the server can do. */
function BackupDialog({ onClose }: { readonly onClose: () => void }) {
  const { publicUrl } = useDeclared();
  return (
    <DialogFrame title={translate("overview.backup_action")} onClose={onClose}>
      <Typography>{translate("overview.backup_explain")}</Typography>
      <Box component="code" sx={{ display: "block", my: 2, p: 1, borderRadius: 1, bgcolor: "action.hover" }}>
        {translate("overview.backup_command")}
      </Box>
      <Typography>
        {translate("overview.backup_daily")}{" "}
        <TextLink href={`${publicUrl}/docs/operating/backup`} target="_blank" rel="noreferrer">
          {translate("overview.backup_guide")}
        </TextLink>
      </Typography>
    </DialogFrame>
  );
}
