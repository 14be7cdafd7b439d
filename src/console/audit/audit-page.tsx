// The audit log: what has changed in keys, webhooks, people and sites, and who signed in, imported, exported and so on. Its filters are in the address.

import { Box, Button, Stack, Typography } from "@mui/material";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { LogEntryInfo, LogResponse, LogSubjectInfo } from "../../admin/api/types.ts";
import { callApi } from "../api/call-api.ts";
import { parseDay, toInstants } from "../history/days.ts";
import { ChangedFields, nameOfActor } from "../history/description.tsx";
import { controlStyle, DayFilters, filtersStyle, PersonChoice } from "../history/history-page.tsx";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { DialogFrame } from "../shell/dialog-frame.tsx";
import { Choice } from "../shell/fields.tsx";
import { AuditIcon, DownloadIcon } from "../shell/icons.tsx";
import { Page } from "../shell/page.tsx";
import { EmptyList, QueryResult } from "../shell/query-result.tsx";
import { navigate, useAddress } from "../shell/router.tsx";
import { useDeclared, useSiteName } from "../shell/site-context.ts";
import { toExactMoment, When } from "../text/times.tsx";
import { translate } from "../text/translate.ts";
import { siteNameOf, toSentence } from "./sentence.ts";

export function AuditPage() {
  const { chosen, query, set, clear } = useFilters();
  const log = useLog(query);
  const [opened, setOpened] = useState<LogEntryInfo>();
  const isFiltered = Object.values(chosen).some((value) => value !== "");
  const entries = log.data ?? noEntries;
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
      <Filters chosen={chosen} set={set} entries={entries} clear={isFiltered ? clear : undefined} />
      <QueryResult query={log}>
        {(shown) => (
          <DataList
            label={translate("audit.title")}
            rows={shown}
            columns={columns}
            rowKey={({ revision }) => revision}
            nameOf={toSentence}
            onOpen={setOpened}
            empty={log.hasNextPage ? undefined : <NoEntries onClear={isFiltered ? clear : undefined} />}
          />
        )}
      </QueryResult>
      {log.hasNextPage && (
        <Button onClick={() => void log.fetchNextPage()} disabled={log.isFetching} sx={{ my: 1 }}>
          {translate("audit.more")}
        </Button>
      )}
      {opened && <Details entry={opened} onClose={() => setOpened(undefined)} />}
    </Page>
  );
}

const noEntries: readonly LogEntryInfo[] = [];

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

/** The filters that are set; an empty string means none. */
interface Chosen {
  readonly from: string;
  readonly to: string;
  readonly subject: LogSubjectInfo | "";
  /** A site's name. */
  readonly site: string;
  /** An actor as in the journal, or an operator's name. */
  readonly by: string;
}

/** Returns the filters in the address, also as a query, ignoring invalid ones, and functions that change them. */
function useFilters() {
  const [parameters, change] = useAddress();
  const { sites } = useDeclared();
  const chosen = useMemo(
    (): Chosen => ({
      from: parseDay(parameters.get("from")),
      to: parseDay(parameters.get("to")),
      subject: subjects.find((one) => one === parameters.get("subject")) ?? "",
      site: sites.find(({ name }) => name === parameters.get("site"))?.name ?? "",
      by: parameters.get("by") ?? "",
    }),
    [parameters, sites],
  );
  const { from, to, subject, site, by } = chosen;
  const sent = Object.entries({ ...toInstants({ from, to }), subject, site, actor: by }).filter(([, value]) => value);
  const set = (changes: Partial<Chosen>) => change(changes, "push");
  const clear = () => set({ from: "", to: "", subject: "", site: "", by: "" });
  return { chosen, query: new URLSearchParams(sent).toString(), set, clear };
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

interface FiltersProps extends Pick<ReturnType<typeof useFilters>, "chosen" | "set"> {
  readonly entries: readonly LogEntryInfo[];
  /** Undefined if no filter is set. */
  readonly clear: (() => void) | undefined;
}

function Filters({ chosen, set, entries, clear }: FiltersProps) {
  const { sites } = useDeclared();
  return (
    <Box role="search" sx={filtersStyle}>
      <DayFilters days={chosen} set={set} />
      <Choice
        label={translate("audit.subject")}
        any={translate("audit.any_subject")}
        sx={controlStyle}
        value={chosen.subject}
        options={subjects.map((name) => [name, translate(`audit.subject_${name}`)])}
        onChange={(subject) => set({ subject: subject as Chosen["subject"] })}
      />
      <Choice
        label={translate("app.site")}
        any={translate("audit.any_site")}
        sx={controlStyle}
        value={chosen.site}
        options={sites.map(({ name }) => [name, name])}
        onChange={(site) => set({ site })}
      />
      <PersonChoice label={translate("audit.by")} value={chosen.by} entries={entries} onChange={(by) => set({ by })} />
      {clear && (
        <Button size="small" onClick={clear}>
          {translate("audit.clear")}
        </Button>
      )}
    </Box>
  );
}

const columns: readonly DataColumn<LogEntryInfo>[] = [
  {
    name: "what",
    label: translate("audit.what"),
    isPrimary: true,
    render: (entry) => (
      <Box component="span" sx={{ fontWeight: 400 }}>
        {toSentence(entry)}
      </Box>
    ),
  },
  { name: "at", label: translate("general.time"), render: ({ at }) => <When at={at} /> },
];

/** @param onClear shows all entries again; undefined if there is no filter */
function NoEntries({ onClear }: { readonly onClear: (() => void) | undefined }) {
  if (!onClear)
    return <EmptyList icon={AuditIcon} title={translate("audit.none")} explain={translate("audit.none_explain")} />;
  return (
    <EmptyList icon={AuditIcon} title={translate("audit.none_selected")}>
      <Button variant="outlined" onClick={onClear}>
        {translate("audit.clear")}
      </Button>
    </EmptyList>
  );
}

interface DetailsProps {
  readonly entry: LogEntryInfo;
  readonly onClose: () => void;
}

/** Who did it, when and where, with the values before and after. */
function Details({ entry, onClose }: DetailsProps) {
  const { at, subject, site, run, before, after, resource } = entry;
  const address = useAddressOf(entry);
  const facts = [
    [translate("general.time"), toExactMoment(at)],
    [translate("audit.by"), nameOfActor(entry)],
    [translate("app.site"), site ? siteNameOf(site) : ""],
    [translate("audit.action"), subject === "refusals" ? String(after?.Name ?? "") : ""],
    [translate("audit.run"), run ?? ""],
  ].filter(([, value]) => value);
  const buttons = (
    <>
      {address && <Button onClick={() => navigate(address)}>{translate("audit.open")}</Button>}
      <Button variant="contained" onClick={onClose}>
        {translate("general.close")}
      </Button>
    </>
  );
  return (
    <DialogFrame title={toSentence(entry)} maxWidth="sm" isLong onClose={onClose} buttons={buttons}>
      <Stack spacing={2}>
        <Box component="dl" sx={factsStyle}>
          {facts.map(([name, value]) => (
            <Box key={name} sx={{ display: "contents" }}>
              <Typography component="dt" variant="body2" color="textSecondary">
                {name}
              </Typography>
              <Typography component="dd" variant="body2" sx={{ m: 0, overflowWrap: "anywhere" }}>
                {value}
              </Typography>
            </Box>
          ))}
        </Box>
        {resource !== "events" && <ChangedFields before={withoutIds(before)} after={withoutIds(after)} />}
      </Stack>
    </DialogFrame>
  );
}

const factsStyle = { m: 0, display: "grid", gridTemplateColumns: "auto 1fr", columnGap: 2, rowGap: 0.5 } as const;

/** What only the server needs. */
const hidden = ["ID", "UID", "Site"];

function withoutIds(values: LogEntryInfo["before"]) {
  return values && Object.fromEntries(Object.entries(values).filter(([name]) => !hidden.includes(name)));
}

/** The page that has what the entry is about, if there is one. */
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
