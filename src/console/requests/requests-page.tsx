// A site's latest API requests, with their responses and details. Updates every two seconds.

import { Alert, AlertTitle, Box, Button, Card, Chip, Link, Stack } from "@mui/material";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import type { LoggedRequestInfo, RequestsResponse } from "../../admin/api/types.ts";
import { callApi, sitePath } from "../api/call-api.ts";
import { FilterBar, NoEntries, useFilters } from "../history/filters.tsx";
import { formatKeyName, labelOfKey } from "../keys/keys.ts";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { DialogFrame } from "../shell/dialog-frame.tsx";
import { PauseIcon, PlayIcon, RequestsIcon } from "../shell/icons.tsx";
import { CopyableText, useCurl } from "../shell/new-secret.tsx";
import { Page } from "../shell/page.tsx";
import { EmptyList, QueryResult } from "../shell/query-result.tsx";
import { useDeclared, useSiteName } from "../shell/site-context.ts";
import { capitalize, toNumber } from "../text/locale.ts";
import { toDuration, toExactMoment, toMoment, toTimeOfDay } from "../text/times.tsx";
import { showInvisible, translate } from "../text/translate.ts";

export function RequestsPage() {
  const [isPaused, setPaused] = useState(false);
  const [opened, setOpened] = useState<LoggedRequestInfo>();
  const filters = useFilters(["status", "problem", "key"], { status: statuses.map(([digit]) => digit) });
  const { chosen, clear } = filters;
  const query = useRequests(chosen, isPaused);
  const { keys, problems } = useSeen(query.data ?? []);
  const any = translate("requests.any");
  const pause = (
    <Button
      variant="outlined"
      startIcon={isPaused ? <PlayIcon /> : <PauseIcon />}
      title={translate(isPaused ? "requests.continue_help" : "requests.pause_help")}
      onClick={() => setPaused(!isPaused)}
    >
      {translate(isPaused ? "webhooks.resume" : "webhooks.pause")}
    </Button>
  );
  return (
    <Page title={translate("requests.title")} explain={translate("requests.explain")} actions={pause}>
      <FilterBar
        filters={filters}
        choices={[
          {
            name: "status",
            label: translate("general.status"),
            any,
            options: statuses.map(([digit, name]) => [digit, translate(`requests.status_${name}`)]),
          },
          // Problems and keys can be chosen once a request with them has appeared.
          {
            name: "problem",
            label: translate("requests.problem"),
            any,
            options: withChosen(problems, chosen.problem),
          },
          { name: "key", label: translate("keys.key"), any, options: withChosen(keys, chosen.key) },
        ]}
      />
      <QueryResult query={query}>
        {(requests) => (
          <DataList
            label={translate("requests.title")}
            rows={requests}
            columns={columns}
            rowKey={({ id }) => id}
            nameOf={({ method, path, status }) => `${method} ${path} ${status}`}
            onOpen={setOpened}
            empty={
              clear ? (
                <Card>
                  <NoEntries none="requests.none" clear={clear} />
                </Card>
              ) : (
                <NoRequests />
              )
            }
          />
        )}
      </QueryResult>
      {opened && <RequestDetails request={opened} onClose={() => setOpened(undefined)} />}
    </Page>
  );
}

/** Classes of statuses by their first digit, with names and colours. */
const statuses = [
  ["2", "answered", "success"],
  ["3", "unchanged", "default"],
  ["4", "rejected", "warning"],
  ["5", "failed", "error"],
] as const;

type Names = ReadonlyMap<string, string>;

/** Returns the keys (by prefix) and problems (by code) of all requests this page has shown, with their names. */
function useSeen(requests: readonly LoggedRequestInfo[]): { readonly keys: Names; readonly problems: Names } {
  const siteName = useSiteName();
  const seen = useRef({ siteName, keys: new Map<string, string>(), problems: new Map<string, string>() });
  if (seen.current.siteName !== siteName) seen.current = { siteName, keys: new Map(), problems: new Map() };
  const { keys, problems } = seen.current;
  for (const { key, problem } of requests) {
    if (key) keys.set(key.prefix, labelOfKey(key));
    if (problem) problems.set(problem.code, problem.title);
  }
  return seen.current;
}

function withChosen(names: Names, chosen: string): readonly (readonly [string, string])[] {
  return [...names, ...(chosen === "" || names.has(chosen) ? [] : [[chosen, chosen] as const])];
}

const columns: readonly DataColumn<LoggedRequestInfo>[] = [
  {
    name: "at",
    label: translate("general.time"),
    render: ({ at }) => (
      <time dateTime={at} title={toMoment(at)}>
        {toTimeOfDay(at)}
      </time>
    ),
  },
  { name: "status", label: translate("general.status"), render: ({ status }) => <Status status={status} /> },
  {
    name: "path",
    label: translate("requests.request"),
    isPrimary: true,
    render: ({ method, path }) => (
      <code>
        {method} {showInvisible(path)}
      </code>
    ),
  },
  {
    name: "problem",
    label: translate("requests.problem"),
    render: ({ problem, leftOut }) => (
      <span className="lines">
        {problem && (
          <span>
            <Detail text={problem.detail} />
          </span>
        )}
        {leftOut > 0 && (
          <small>{translate("requests.left_out", { smart_count: leftOut, count: toNumber(leftOut) })}</small>
        )}
      </span>
    ),
  },
  { name: "key", label: translate("keys.key"), render: ({ key }) => key && labelOfKey(key) },
  {
    name: "took",
    label: translate("general.took"),
    align: "right",
    render: ({ milliseconds }) => <span className="whole">{toDuration(milliseconds)}</span>,
  },
];

function Status({ status }: { readonly status: number }) {
  const [, , color] = statuses.find(([digit]) => digit === String(status).charAt(0)) ?? statuses[0];
  return <Chip variant="outlined" color={color} label={status} />;
}

/** Says what will appear here, with a command that sends a first request. */
function NoRequests() {
  const curl = useCurl();
  const request = { method: "GET", path: "/restapi/brands.json?limit=3" };
  return (
    <EmptyList icon={RequestsIcon} title={translate("requests.none")} explain={translate("requests.none_explain")}>
      <Box sx={{ width: "100%", maxWidth: 640, textAlign: "left" }}>
        <CopyableText
          label={translate("requests.send_one")}
          text={curl(request)}
          help={translate("requests.send_help")}
        />
      </Box>
    </EmptyList>
  );
}

interface RequestDetailsProps {
  readonly request: LoggedRequestInfo;
  readonly onClose: () => void;
}

function RequestDetails({ request, onClose }: RequestDetailsProps) {
  const { publicUrl } = useDeclared();
  const curl = useCurl();
  const { method, path, problem } = request;
  return (
    <DialogFrame title={`${method} ${showInvisible(path)}`} isCode maxWidth="sm" isLong onClose={onClose}>
      <Stack spacing={2}>
        {problem ? <Problem problem={problem} publicUrl={publicUrl} /> : null}
        <Facts request={request} />
        <CopyableText
          label={translate("requests.repeat")}
          text={curl(request)}
          help={translate("requests.repeat_help")}
        />
      </Stack>
    </DialogFrame>
  );
}

interface ProblemProps {
  readonly problem: NonNullable<LoggedRequestInfo["problem"]>;
  readonly publicUrl: string;
}

/** The problem in the response with its errors, and a link to the page about it. */
function Problem({ problem: { code, title, detail, errors }, publicUrl }: ProblemProps) {
  return (
    <Alert severity="error" icon={false} sx={{ overflowWrap: "anywhere" }}>
      <AlertTitle>{title}</AlertTitle>
      <Detail text={detail} />
      {errors.length > 0 && (
        <Box component="ul" sx={{ m: 0, mt: 1, pl: 2.5 }}>
          {errors.map((error) => (
            <li key={`${error.field} ${error.detail}`}>
              <strong>{showInvisible(error.field)}</strong> <Detail text={error.detail} />
            </li>
          ))}
        </Box>
      )}
      <Box sx={{ mt: 1 }}>
        <Link href={`${publicUrl}/docs/problems/${encodeURIComponent(code)}`} target="_blank" rel="noopener">
          {translate("requests.about_problem")}
        </Link>
      </Box>
    </Alert>
  );
}

/** A server text. What's in backticks is shown as code. */
function Detail({ text }: { readonly text: string }) {
  const parts = capitalize(showInvisible(text)).split("`");
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text never change
  return parts.map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>));
}

function Facts({ request: { at, status, milliseconds, bytes, request, key } }: Pick<RequestDetailsProps, "request">) {
  const facts: readonly (readonly [string, ReactNode])[] = [
    [translate("general.time"), toExactMoment(at)],
    [translate("general.status"), status],
    [translate("keys.key"), key ? formatKeyName(key) : translate("general.none")],
    [translate("general.took"), toDuration(milliseconds)],
    [translate("requests.size"), translate("general.bytes", { count: toNumber(bytes) })],
    [translate("requests.id"), <code key="id">{request}</code>],
  ];
  return (
    <Box
      component="dl"
      sx={{ m: 0, display: "grid", gridTemplateColumns: "auto 1fr", columnGap: 2, rowGap: 0.5, fontSize: 14 }}
    >
      {facts.map(([name, value]) => (
        <Box key={name} sx={{ display: "contents" }}>
          <Box component="dt" sx={{ color: "text.secondary" }}>
            {name}
          </Box>
          <Box component="dd" sx={{ m: 0, overflowWrap: "anywhere" }}>
            {value}
          </Box>
        </Box>
      ))}
    </Box>
  );
}

/** Milliseconds between two reads. Hidden tabs don't read. */
const intervalMs = 2000;
const maxRequests = 200;
/** Milliseconds by which reads overlap, because another process of the server may report its requests a little later. */
const overlapMs = 5000;

/** Which requests to show. An empty string means all. */
interface RequestFilter {
  /** The status's first digit. */
  readonly status: string;
  /** A key's prefix. */
  readonly key: string;
  /** A problem's code. */
  readonly problem: string;
}

/** Reads the latest requests, newest first. Each read only asks for new ones. @param isPaused whether to leave the list as it is */
function useRequests(filter: RequestFilter, isPaused: boolean) {
  const siteName = useSiteName();
  const queries = useQueryClient();
  const queryKey = ["requests", siteName, filter];
  return useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const known = queries.getQueryData<readonly LoggedRequestInfo[]>(queryKey) ?? [];
      const path = `${sitePath(siteName, "/requests")}?${toSearch(filter, known[0]?.at)}`;
      const { requests } = await callApi<RequestsResponse>("GET", path, undefined, { signal });
      return mergeRequests(known, requests);
    },
    refetchInterval: isPaused ? false : intervalMs,
    refetchOnWindowFocus: !isPaused,
  });
}

/** @param latest the time of the latest known request, in ISO 8601 */
function toSearch({ status, key, problem }: RequestFilter, latest: string | undefined): URLSearchParams {
  const after = latest === undefined ? "" : new Date(Date.parse(latest) - overlapMs).toISOString();
  const parameters = Object.entries({ status, key, problem, after }).filter(([, value]) => value !== "");
  return new URLSearchParams(parameters);
}

/** Merges new requests into the known ones, without duplicates. Returns the same list if there is nothing new. */
function mergeRequests(
  known: readonly LoggedRequestInfo[],
  read: readonly LoggedRequestInfo[],
): readonly LoggedRequestInfo[] {
  const ids = new Set(known.map(({ id }) => id));
  const added = read.filter(({ id }) => !ids.has(id));
  if (added.length === 0) return known;
  return [...added, ...known].sort((one, other) => other.at.localeCompare(one.at)).slice(0, maxRequests);
}
