// The page of the requests of a site: the latest API requests and their responses. It is read again every two seconds.

import { Box, Button, Chip } from "@mui/material";
import { useMemo, useRef, useState } from "react";
import type { LoggedRequestInfo } from "../../admin/api/types.ts";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { Choice } from "../shell/fields.tsx";
import { PauseIcon, PlayIcon, RequestsIcon } from "../shell/icons.tsx";
import { CopyableText, useCurl } from "../shell/new-secret.tsx";
import { Page } from "../shell/page.tsx";
import { EmptyList, QueryResult } from "../shell/query-result.tsx";
import { useAddress } from "../shell/router.tsx";
import { useSiteName } from "../shell/site-context.ts";
import { toNumber } from "../text/locale.ts";
import { toDuration, toMoment, toTimeOfDay } from "../text/times.tsx";
import { showInvisible, translate } from "../text/translate.ts";
import { Detail, RequestDetails } from "./request-details.tsx";
import { type RequestFilter, useRequests } from "./requests.ts";

/** The page with the last requests of the site. */
export function RequestsPage() {
  const [isPaused, setPaused] = useState(false);
  const [opened, setOpened] = useState<LoggedRequestInfo>();
  const [filter, change] = useFilter();
  const query = useRequests(filter, isPaused);
  const pause = (
    <Button
      variant="outlined"
      startIcon={isPaused ? <PlayIcon /> : <PauseIcon />}
      title={translate(isPaused ? "requests.continue_help" : "requests.pause_help")}
      onClick={() => setPaused(!isPaused)}
    >
      {translate(isPaused ? "requests.continue" : "requests.pause")}
    </Button>
  );
  return (
    <Page title={translate("requests.title")} explain={translate("requests.explain")} actions={pause}>
      <Filters filter={filter} onChange={change} requests={query.data ?? noRequests} />
      <QueryResult query={query}>
        {(requests) => (
          <DataList
            label={translate("requests.title")}
            rows={requests}
            columns={columns}
            rowKey={({ id }) => id}
            nameOf={({ method, path, status }) => `${method} ${path} ${status}`}
            onOpen={setOpened}
            empty={<NoRequests onClear={isFiltered(filter) ? () => change(noFilter) : undefined} />}
          />
        )}
      </QueryResult>
      {opened && <RequestDetails request={opened} onClose={() => setOpened(undefined)} />}
    </Page>
  );
}

const noRequests: readonly LoggedRequestInfo[] = [];
const noFilter: RequestFilter = { status: "", key: "", problem: "" };

function isFiltered(filter: RequestFilter): boolean {
  return Object.values(filter).some((value) => value !== "");
}

/** Returns the filter in the address, and a function that changes parts of it. */
function useFilter(): [filter: RequestFilter, change: (changes: Partial<RequestFilter>) => void] {
  const [parameters, changeAddress] = useAddress();
  const filter = useMemo((): RequestFilter => {
    const status = parameters.get("status") ?? "";
    return {
      status: statuses.some(([digit]) => digit === status) ? status : "",
      key: parameters.get("key") ?? "",
      problem: parameters.get("problem") ?? "",
    };
  }, [parameters]);
  return [filter, (changes) => changeAddress({ ...changes }, "push")];
}

/** The classes of statuses, by their first digit: their names and colours. */
const statuses = [
  ["2", "answered", "success"],
  ["3", "unchanged", "default"],
  ["4", "rejected", "warning"],
  ["5", "failed", "error"],
] as const;

interface FiltersProps {
  readonly filter: RequestFilter;
  readonly onChange: (changes: Partial<RequestFilter>) => void;
  readonly requests: readonly LoggedRequestInfo[];
}

/** The controls of the filters. Keys and problems can be chosen once a request with them was seen. */
function Filters({ filter, onChange, requests }: FiltersProps) {
  const { keys, problems } = useSeen(requests);
  return (
    <Box role="search" sx={{ display: "flex", flexWrap: "wrap", gap: 1, mb: 2, alignItems: "center" }}>
      <Choice
        {...choice}
        label={translate("general.status")}
        value={filter.status}
        options={statuses.map(([digit, name]) => [digit, translate(`requests.status_${name}`)])}
        onChange={(status) => onChange({ status })}
      />
      <Choice
        {...choice}
        label={translate("requests.problem")}
        value={filter.problem}
        options={withChosen(problems, filter.problem)}
        onChange={(problem) => onChange({ problem })}
      />
      <Choice
        {...choice}
        label={translate("requests.key")}
        value={filter.key}
        options={withChosen(keys, filter.key).map(([prefix, label]) => [prefix, showInvisible(label)])}
        onChange={(key) => onChange({ key })}
      />
      {isFiltered(filter) && (
        <Button size="small" onClick={() => onChange(noFilter)}>
          {translate("requests.clear")}
        </Button>
      )}
    </Box>
  );
}

type Names = ReadonlyMap<string, string>;

/** Returns the keys and problems of all requests that this page has shown, by prefix and code, with their names. */
function useSeen(requests: readonly LoggedRequestInfo[]): { readonly keys: Names; readonly problems: Names } {
  const siteName = useSiteName();
  const seen = useRef({ siteName, keys: new Map<string, string>(), problems: new Map<string, string>() });
  if (seen.current.siteName !== siteName) seen.current = { siteName, keys: new Map(), problems: new Map() };
  const { keys, problems } = seen.current;
  for (const { key, problem } of requests) {
    if (key) keys.set(key.prefix, key.label || `${key.prefix}…`);
    if (problem) problems.set(problem.code, problem.title);
  }
  return seen.current;
}

function withChosen(names: Names, chosen: string): readonly (readonly [string, string])[] {
  return [...names, ...(chosen === "" || names.has(chosen) ? [] : [[chosen, chosen] as const])];
}

/** The properties that all filters of the page have. */
const choice = { any: translate("requests.any"), sx: { width: { xs: "calc(50% - 4px)", sm: 220 }, m: 0 } } as const;

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
  { name: "key", label: translate("requests.key"), render: ({ key }) => key && <KeyLabel apiKey={key} /> },
  {
    name: "took",
    label: translate("general.took"),
    align: "right",
    render: ({ milliseconds }) => <span className="whole">{toDuration(milliseconds)}</span>,
  },
];

/** The purpose of a key; the beginning of the key if it has none. */
function KeyLabel({ apiKey: { label, prefix } }: { readonly apiKey: NonNullable<LoggedRequestInfo["key"]> }) {
  return label ? showInvisible(label) : <code>{prefix}…</code>;
}

function Status({ status }: { readonly status: number }) {
  const [, , color] = statuses.find(([digit]) => digit === String(status).charAt(0)) ?? statuses[0];
  return <Chip variant="outlined" color={color} label={status} />;
}

/** Says what appears here, with a line that sends a first request. @param onClear shows all requests again; undefined if none are left out */
function NoRequests({ onClear }: { readonly onClear: (() => void) | undefined }) {
  const curl = useCurl();
  if (onClear)
    return (
      <EmptyList icon={RequestsIcon} title={translate("requests.none_found")}>
        <Button variant="outlined" onClick={onClear}>
          {translate("requests.clear")}
        </Button>
      </EmptyList>
    );
  const request = { method: "GET", path: "/restapi/brands.json?limit=3" };
  return (
    <EmptyList icon={RequestsIcon} title={translate("requests.none")} explain={translate("requests.none_explain")}>
      <Box sx={{ width: 640, maxWidth: "100%", textAlign: "left" }}>
        <CopyableText
          label={translate("requests.send_one")}
          text={curl(request)}
          help={translate("requests.send_help")}
        />
      </Box>
    </EmptyList>
  );
}
