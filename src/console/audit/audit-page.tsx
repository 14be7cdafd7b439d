// The audit log: every change to keys, webhooks, people and sites, and who signed in, imported, exported and so on.

import { Button, Card, Stack, Typography } from "@mui/material";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { LogEntryInfo, LogResponse, LogSubjectInfo } from "../../admin/api/types.ts";
import { callApi } from "../api/call-api.ts";
import { toInstants } from "../history/days.ts";
import { ChangedFields } from "../history/description.tsx";
import { FilterBar, NoEntries, PersonChoice, useFilters } from "../history/filters.tsx";
import { EntryRow, EntryRows } from "../history/history-list.tsx";
import { formatKeyName } from "../keys/keys.ts";
import { DownloadIcon } from "../shell/icons.tsx";
import { Page } from "../shell/page.tsx";
import { QueryResult } from "../shell/query-result.tsx";
import { Link } from "../shell/router.tsx";
import { useDeclared, useSiteName } from "../shell/site-context.ts";
import { toNumber } from "../text/locale.ts";
import { toExactMoment } from "../text/times.tsx";
import { showInvisible, type TextKey, translate } from "../text/translate.ts";

const subjects: readonly LogSubjectInfo[] = [
  "keys",
  "webhooks",
  "operators",
  "sites",
  "sign-ins",
  "refusals",
  "imports",
  "exports",
  "backups",
];

export function AuditPage() {
  const sites = useDeclared().sites.map(({ name }) => name);
  const filters = useFilters(["from", "to", "subject", "site", "by"], { subject: subjects, site: sites });
  const { subject, site, by } = filters.chosen;
  const sent = Object.entries({ ...toInstants(filters.chosen), subject, site, actor: by }).filter(([, value]) => value);
  const query = new URLSearchParams(sent).toString();
  const log = useLog(query);
  return (
    <Page
      title={translate("audit.title")}
      explain={translate("audit.explain")}
      actions={
        <Button
          variant="outlined"
          href={`/operator/audit-log/export?${query}`}
          startIcon={<DownloadIcon />}
          title={translate("audit.download_explain")}
        >
          {translate("history.export")}
        </Button>
      }
    >
      <FilterBar
        filters={filters}
        choices={[
          {
            name: "subject",
            label: translate("audit.subject"),
            any: translate("audit.any_subject"),
            options: subjects.map((name) => [name, translate(`audit.subject_${name}`)]),
          },
          {
            name: "site",
            label: translate("app.site"),
            any: translate("operators.every_site"),
            options: sites.map((name) => [name, name]),
          },
        ]}
      >
        <PersonChoice {...filters} entries={log.data ?? []} />
      </FilterBar>
      <QueryResult query={log}>
        {(entries) => (
          <Card>
            {entries.length === 0 && !log.hasNextPage && <NoEntries none="audit.none" clear={filters.clear} />}
            <EntryRows entries={entries} keyOf={({ revision }) => revision}>
              {(entry) => (
                <EntryRow entry={entry} summary={toSentence(entry)}>
                  <Details entry={entry} />
                </EntryRow>
              )}
            </EntryRows>
          </Card>
        )}
      </QueryResult>
      {log.hasNextPage && (
        <Button onClick={() => void log.fetchNextPage()} disabled={log.isFetching} sx={{ my: 1 }}>
          {translate("history.more")}
        </Button>
      )}
    </Page>
  );
}

/** A page has up to 100 entries. With filters it can be shorter, even empty, because the server reads at most 10,000 for a page. */
function useLog(query: string) {
  return useInfiniteQuery({
    queryKey: ["audit-log", query],
    initialPageParam: "",
    queryFn: ({ pageParam }) => callApi<LogResponse>("GET", `/audit-log?${query}${pageParam}`),
    getNextPageParam: ({ next }) => (next === null ? undefined : `&before=${next}`),
    select: ({ pages }) => pages.flatMap(({ entries }) => entries),
  });
}

interface DetailsProps {
  readonly entry: LogEntryInfo;
}

/** When exactly it happened, the values before and after, and a link to the page that has what the entry is about. */
function Details({ entry }: DetailsProps) {
  const { at, run, before, after, resource } = entry;
  const address = useAddressOf(entry);
  const facts = [toExactMoment(at), run && translate("audit.run", { run })];
  return (
    <Stack spacing={1} sx={{ alignItems: "flex-start" }}>
      <Typography variant="body2" color="textSecondary" sx={{ overflowWrap: "anywhere" }}>
        {facts.filter(Boolean).join(" · ")}
      </Typography>
      {resource !== "events" && <ChangedFields before={withoutIds(before)} after={withoutIds(after)} />}
      {address && (
        <Button size="small" component={Link} to={address}>
          {translate("audit.open")}
        </Button>
      )}
    </Stack>
  );
}

/** What only the server needs. */
const hidden = ["ID", "UID", "Site"];

function withoutIds(values: LogEntryInfo["before"]) {
  return values && Object.fromEntries(Object.entries(values).filter(([name]) => !hidden.includes(name)));
}

function useAddressOf({ subject, site, after }: LogEntryInfo): string | undefined {
  const current = useSiteName();
  const { sites } = useDeclared();
  if (subject === "operators" || subject === "sign-ins") return `/${current}/operators`;
  if (subject === "sites") return `/${current}/sites`;
  if (!site || !sites.some(({ name }) => name === site.name)) return undefined;
  if (subject === "keys" || subject === "webhooks") return `/${site.name}/${subject}`;
  const resource = after?.Resource ? `?resource=${after.Resource}` : "";
  return subject === "imports" || subject === "exports" ? `/${site.name}/history${resource}` : undefined;
}

/** Says what happened, and from which address or in which site. */
function toSentence(entry: LogEntryInfo): string {
  const { site, resource } = entry;
  const textOf = (name: string) => String((entry.after ?? entry.before)?.[name] ?? "");
  const text = (resource === "events" ? eventSentence : changeSentence)(entry, textOf);
  const address = showInvisible(textOf("Address"));
  if (address) return translate("audit.from", { text, address });
  if (!site || resource === "sites") return text;
  return translate("audit.on_site", { text, site: site.name ?? translate("audit.removed_site", { id: site.id }) });
}

type TextOf = (name: string) => string;

function changeSentence({ resource, operation, before, after, name }: LogEntryInfo, textOf: TextOf): string {
  const states = { Revoked: ["revoke"], Paused: ["pause", "resume"], Suspended: ["suspend", "resume"] } as const;
  const turned = Object.entries(states).flatMap(([field, [on, off = ""]]) => {
    const [old, now] = [Boolean(before?.[field]), Boolean(after?.[field])];
    return old === now || operation !== "update" ? [] : [now ? on : off];
  });
  const what = turned[0] ?? (operation === "create" && textOf("Former") ? "rotate" : operation);
  const key = { label: textOf("Label"), prefix: textOf("Prefix") };
  const roles: { readonly [stored in string]?: TextKey } = {
    "": "roles.admin",
    records: "roles.editor",
    read: "roles.viewer",
  };
  return firstText([`${resource}_${what}`], {
    name: resource === "keys" ? formatKeyName(key) : showInvisible(name),
    rights: textOf("Scope").replaceAll(" ", ", "),
    role: translate(roles[textOf("Role")] ?? "roles.unknown"),
  });
}

function eventSentence({ actor }: LogEntryInfo, textOf: TextOf): string {
  const [kind, name] = [textOf("Kind"), textOf("Name")];
  const isOther = kind === "sign-out" && actor !== `console:${name}`;
  return firstText([`${kind}_${isOther ? "other" : textOf("Detail")}`, kind], {
    name: showInvisible(name) || translate("audit.a_file"),
    what: textOf("Resource") || showInvisible(name),
    rows: textOf("Rows"),
    count: toNumber(Number(textOf("Count"))),
    smart_count: textOf("Count") === "" ? 1 : 2,
  });
}

/** Returns the first of these texts that exists. Another version of the program may have logged what this one doesn't know. */
function firstText(names: readonly string[], values: Parameters<typeof translate>[1]): string {
  const keys = names.map((name) => `audit.${name}` as TextKey);
  return translate(keys.find((key) => translate(key) !== key) ?? "audit.unknown", values);
}
