// Advice for query parameters an endpoint doesn't have: what the client probably meant, and how to ask for that here. Names are compared only by letters and
// digits, so `filter.Name`, `filter[Name` and `filterName` are the same.

import type { Format } from "../formats/format.ts";
import { findNearest, normalizeName } from "../lib/text.ts";
import { maxPageSize } from "../model/limits.ts";
import { ignorableName, methodAdvice, parametersOf, type RequestKind } from "../model/parameters.ts";
import { basePath, fieldPaths, findTextField, type Resource } from "../model/resource.ts";

export interface QueryOwner {
  readonly kind: RequestKind;
  readonly format: Format;
  /** The resource of the path; for all other paths, all public resources. */
  readonly resources: readonly Resource[];
}

/** What parameters are called here and in other interfaces (normalized), by what they ask for. */
const synonyms = {
  limit:
    "limit take top max maxresults size rows num perpage pagesize pagelimit itemsperpage postsperpage resultsperpage",
  offset: "offset skip start startindex startat pageoffset from",
  page: `page pages p pg paged pageno pagenumber pagenum pageindex currentpage cursor pagecursor marker bookmark continuation continuationtoken
    pageinfo pagetoken nexttoken nextpagetoken nextcursor skiptoken deltatoken sinceid maxid minid startingafter endingbefore startafter pageafter
    pagebefore after before first last next previous scrollid`,
  total:
    "count total totalcount includetotal includetotals includecount withcount withtotal inlinecount returntotal showtotal",
  sort: "sort sortby sortfield sortkey sortorders order orders orderby ordering sorting",
  descending: "sortorder sortdir sortdirection orderdir orderdirection dir direction asc desc descending reverse",
  fields: "fields select columns only attributes properties projection display includefields outputfields",
  whole: "include includes expand embed populate with relations view depth",
  filter: "filter where criteria searchcriteria filtergroups condition conditions fq",
  search: "q s query search searchterm searchtext find term keyword keywords",
  ids: "ids idlist",
  changes: "since wait resource resources collapse",
  wait: "timeout poll longpoll",
  run: "run runid",
  dryRun: "dryrun dry simulate simulation preview validateonly whatif noop",
  match: "match matchby matchon upsert upserton onconflict mergeon",
  atomic: "atomic transaction transactional allornothing",
  method: "method httpmethod xhttpmethod xhttpmethodoverride xmethodoverride",
  key: "key apikey xapikey xapiauth apitoken accesstoken token auth authorization wskey consumerkey consumersecret",
  format: "format outputformat ioformat output outputtype responsetype contenttype accept alt ext",
  version: "etag ifmatch version revision rev",
  idempotency: "idempotencykey idempotency",
  force: "force permanent hard cascade confirm",
  cacheBuster: "rnd random timestamp time cache cachebust cachebusting cachekiller buster bust dc",
  callback: "callback jsonp",
} as const;

type Meaning = keyof typeof synonyms;

const meanings = new Map(
  Object.entries(synonyms).flatMap(([meaning, names]) => names.split(/\s+/).map((name) => [name, meaning as Meaning])),
);

/** Normalized names that ask for changes since some time, such as updated_at_min and date_modified:from. */
const changedSince =
  /^(?:date|last)?(?:updated?|modified|changed?|created?|modification)(?:at|on|date|time|utc|gmt|since|after|before|from|to|min|max|[gl]te?)+$|^date(?:updated|modified|changed|created)$/;

/** Name endings that select an operator in other interfaces. */
const endings: readonly (readonly [operator: "equals" | "contains" | "in" | "other", ending: RegExp])[] = [
  ["other", /(?:not(?:eq|in|like|contains)?|ne|neq|nin|[gl]te?|[gl]e|min|max|from|to|after|before)$/],
  ["contains", /(?:i?contains|cont|i?like|matches|startswith|endswith)$/],
  ["equals", /(?:exact|equals|eq|is)$/],
  ["in", /(?:in|any)$/],
];

interface AskedField {
  /** The path of a text field or of a group, or `ID`. */
  readonly path: string;
  readonly resource: Resource;
  readonly operator: (typeof endings)[number][0];
}

interface Sent {
  readonly name: string;
  readonly value: string;
  readonly owner: QueryOwner;
}

const nouns: Record<RequestKind, string> = {
  list: "a list",
  "look-up": "a look-up",
  create: "a create",
  update: "an update",
  delete: "a delete",
  batch: "a batch request",
  undo: "an undo",
  feed: "the feed",
  key: "this path",
  webhooks: "this path",
};

export function unknownParameterDetail(sent: Sent): string {
  return `${nouns[sent.owner.kind]} has no parameter \`${sent.name.slice(0, 100)}\`; ${adviceOn({ ...sent, name: sent.name.slice(0, 200) })}`;
}

function adviceOn(sent: Sent): string {
  const { name, owner } = sent;
  if (name === "") return "put a name before the `=`";
  const [, escaped] = /^(?:amp;)+(.*)$/is.exec(name) ?? [];
  if (escaped !== undefined)
    return `\`&amp;\` is HTML; in a URL, \`&\` alone separates parameters, so write \`&${escaped}=...\``;
  const own: readonly string[] = parametersOf[owner.kind];
  const letters = normalizeName(name);
  const field = fieldIn(owner, letters);
  if (field && !own.includes(field.path)) return fieldAdvice(sent, field);
  // Short names resemble everything.
  const near =
    own.find((one) => normalizeName(one) === letters) ??
    findNearest(
      name,
      own.filter((one) => one.length > 2),
    );
  if (near !== undefined && near !== "filter") return `did you mean \`${near}\`?`;
  const meant = meantBy(sent, letters);
  const advice = typeof meant === "object" ? fieldAdvice(sent, meant) : meant && meaningAdvice[meant](sent);
  return advice ?? ownNames(own) + ignoring(name);
}

function ownNames(own: readonly string[]): string {
  const shown = own.map((one) => (one === "filter" ? "`filter[...]`" : `\`${one}\``));
  return shown.length === 0 ? "it takes none" : `it has ${new Intl.ListFormat("en-GB").format(shown)}`;
}

function ignoring(name: string): string {
  if (!ignorableName.test(name)) return "";
  return `. If something adds it to every URL, ask the operator for \`serve --ignore-parameters ${name}\``;
}

/** Finds what a name asks for. With brackets, the outer name decides, unless it's just a container: `sort[Name]` sorts, but `q[name_eq]` filters. */
function meantBy({ name, value, owner }: Sent, letters: string): Meaning | AskedField | undefined {
  const whole = meaningOf(letters, value);
  if (whole) return whole;
  const [first = "", second = "", ...others] = name.split(/[[\].:]+/).map(normalizeName);
  const outer = meaningOf(first, value);
  const inner = second + others.join("");
  if (outer === undefined || outer === "filter" || outer === "search" || outer === "page") {
    // `filterName` and `where_name` have no brackets.
    const [, joined = ""] = /^(?:filters?|where)(.+)$/.exec(letters) ?? [];
    const found = fieldIn(owner, inner) ?? fieldIn(owner, second) ?? fieldIn(owner, joined);
    return (
      found ?? meaningOf(inner, value) ?? meaningOf(second, value) ?? outer ?? (joined === "" ? undefined : "filter")
    );
  }
  return outer;
}

function meaningOf(letters: string, value: string): Meaning | undefined {
  const meaning = meanings.get(letters) ?? meanings.get(letters.replace(/s$/, ""));
  if (meaning === undefined && changedSince.test(letters)) return "changes";
  // `from` and `after` can name a record or a time.
  if ((meaning === "page" || meaning === "offset") && /^\d{4}-\d\d/.test(value)) return "changes";
  // `?1732839283511` bypasses caches.
  if (meaning === undefined && /^[0-9]{8,}$/.test(letters)) return "cacheBuster";
  // WordPress selects records by `include=3,5`; others name related records.
  if (meaning === "whole" && letters === "include" && idList.test(value)) return "ids";
  return meaning === "sort" && /^(?:a|de)sc/i.test(value) ? "descending" : meaning;
}

const idList = /^[1-9][0-9]*(?:,[1-9][0-9]*)*$/;

/** Finds a field by the letters of its path or the last name in it, with or without an operator at the end. */
function fieldIn({ resources }: QueryOwner, letters: string): AskedField | undefined {
  const named = (text: string, operator: AskedField["operator"]): AskedField | undefined => {
    const resource = resources.find((one) => pathsByLetters(one).has(text));
    return resource && { path: pathsByLetters(resource).get(text) as string, resource, operator };
  };
  const whole = named(letters, "equals");
  if (whole) return whole;
  for (const [operator, ending] of endings) {
    const rest = letters.replace(ending, "");
    const field = rest === letters ? undefined : named(rest, operator);
    if (field) return field;
  }
  return undefined;
}

const cachedPaths = new WeakMap<Resource, ReadonlyMap<string, string>>();

/** Maps the letters of whole paths and last names to paths. A whole path wins, then the first path with that last name. */
function pathsByLetters(resource: Resource): ReadonlyMap<string, string> {
  let found = cachedPaths.get(resource);
  if (!found) {
    const paths = fieldPaths(resource);
    const lastNames = paths.map((path) => [normalizeName(path.slice(path.lastIndexOf(".") + 1)), path] as const);
    found = new Map([...lastNames.reverse(), ...paths.map((path) => [normalizeName(path), path] as const)]);
    cachedPaths.set(resource, found);
  }
  return found;
}

function fieldAdvice(sent: Sent, field: AskedField): string {
  const { kind } = sent.owner;
  if (field.path === "ID") return idAdvice(sent, field);
  if (kind === "create" || kind === "update") return "send the record's fields in the body";
  if (kind === "batch") return "send a record's fields in its operation's `Record`";
  return inList(sent, filterAdvice(sent, field), field.resource);
}

function filterAdvice({ value }: Sent, { path, resource, operator }: AskedField): string {
  const filter = `filter[${path}]`;
  if (!findTextField(resource, path)) {
    const inside = resource.textFields
      .filter((one) => one.path.startsWith(`${path}.`))
      .map((one) => `\`filter[${one.path}]\``);
    return `filter by a field in \`${path}\`: ${inside.join(", ")}`;
  }
  if (operator === "contains") return `write \`${filter}[contains]=${inUrl(value)}\``;
  if (operator === "in") return `write \`${filter}[in]=${inUrl(value)}\``;
  if (operator === "equals") return `write \`${filter}=${inUrl(value)}\``;
  return `a filter can't compare: it's exact, as in \`${filter}=...\`, or a part, as in \`${filter}[contains]=...\``;
}

function idAdvice(sent: Sent, { resource, operator }: AskedField): string {
  const { owner, value } = sent;
  const id = /^[1-9][0-9]{0,15}$/.test(value) ? value : "3";
  const path = `${basePath}${resource.path}`;
  switch (owner.kind) {
    case "list":
      return operator === "other"
        ? "IDs can't be compared: write `filter[ID][in]=3,5,8`, or read the list in ID order with `limit` and `offset`"
        : `write \`filter[ID][in]=3,5,8\`, or look one up by its path, such as \`${path}/${id}.${owner.format.name}\``;
    case "create":
      return `the server assigns the ID of a new record; to update the ${resource.singular} ${id}, send a PUT`;
    case "batch":
      return "set `ID` in each operation";
    case "undo":
      return "put the run in the body";
    case "key":
      return "leave it out, because this is about the key that you send";
    case "feed":
      return `look a record up by its path, such as \`${path}/${id}.${owner.format.name}\``;
    default:
      return owner.kind === "look-up" ? "the path already has the ID" : `write \`ID=${id}\``;
  }
}

/** Adds where the list is, if the request was for another endpoint. */
function inList(
  { owner: { kind, resources, format } }: Sent,
  advice: string,
  resource = resources[0] as Resource,
): string {
  if (kind === "list") return advice;
  const where = `in a list (\`${basePath}${resource.path}.${format.name}\`)`;
  return kind === "delete" ? `find the ID ${where} first: ${advice}` : `${where}, ${advice}`;
}

function inUrl(value: string): string {
  return value.length > 60 ? "..." : value.replaceAll(/[%&+#\s\p{Cc}]/gu, encodeURIComponent);
}

function isRead({ owner: { kind } }: Sent): boolean {
  return kind === "list" || kind === "look-up" || kind === "feed" || kind === "key";
}

const paging =
  "write `limit` and `offset`, as in `?limit=100&offset=200`, or follow the `next` URL in the header `Link`";

/** Undefined if the endpoint has nothing like it. */
const meaningAdvice: Record<Meaning, (sent: Sent) => string | undefined> = {
  limit: (sent) => {
    const limit = `write \`limit=${/^[1-9][0-9]{0,2}$/.test(sent.value) ? sent.value : maxPageSize}\``;
    return sent.owner.kind === "feed" ? limit : inList(sent, `${limit}, and \`offset\` for further pages`);
  },
  offset: (sent) => (sent.owner.kind === "feed" ? cursorAdvice : inList(sent, paging)),
  page: (sent) => (sent.owner.kind === "feed" ? cursorAdvice : inList(sent, paging)),
  total: (sent) => {
    const limit = /^[2-9]$|^[1-9][0-9]{1,2}$/.test(sent.value)
      ? `; for ${sent.value} records, write \`limit=${sent.value}\``
      : "";
    return inList(sent, `the number of records is always in the header \`X-Total-Count\`${limit}`);
  },
  sort: (sent) => inList(sent, "write `sort=Name`, or `sort=-Name` for descending"),
  descending: (sent) => inList(sent, "write `sort=-Name` for descending, or `sort=Name` for ascending"),
  fields: (sent) => {
    if (sent.owner.kind === "list") return "write `fields=Name`";
    if (sent.owner.kind === "look-up") return inList(sent, "write `filter[ID]=...&fields=Name`");
    return "leave it out; you always get all fields of a record here";
  },
  whole: () => "leave it out; you always get all fields of a record",
  filter: (sent) =>
    inList(sent, "write `filter[Name]=Acme` for an exact value, or `filter[Name][contains]=acm` for a part"),
  search: (sent) => inList(sent, "write `filter[Name][contains]=acm`"),
  ids: (sent) => inList(sent, `write \`filter[ID][in]=${idList.test(sent.value) ? inUrl(sent.value) : "3,5,8"}\``),
  changes: (sent) => {
    if (sent.owner.kind === "feed") return cursorAdvice;
    return `for what has changed, read the feed: \`${basePath}changes.${sent.owner.format.name}?since=now\``;
  },
  wait: (sent) => (sent.owner.kind === "feed" ? "did you mean `wait`?" : undefined),
  run: (sent) => (sent.owner.kind === "undo" ? "put the run in the body" : undefined),
  dryRun: (sent) => {
    if (sent.owner.kind === "webhooks") return "leave it out, because webhooks have no dry runs";
    return isRead(sent) ? "leave it out, because a GET changes nothing" : "did you mean `dryRun=1`?";
  },
  match: (sent) => {
    const { kind, format, resources } = sent.owner;
    if (kind === "batch") return "did you mean `match`?";
    if (isRead(sent)) return meaningAdvice.filter(sent);
    const field = resources.some((one) => findTextField(one, sent.value)) ? sent.value : "Name";
    return `only batch requests find records by a field; send one to \`${basePath}batch.${format.name}?match=${field}\``;
  },
  atomic: (sent) => (sent.owner.kind === "batch" ? "did you mean `atomic`?" : undefined),
  method: () => methodAdvice,
  key: () => "send the API key in the header `X-API-AUTH`, never in a URL, because URLs are logged",
  format: () => "choose the format with the path's suffix, `.json` or `.xml`",
  version: (sent) => {
    if (isRead(sent)) return undefined;
    return sent.owner.kind === "batch"
      ? "send `IfMatch` in an operation"
      : "send the `ETag` of the record in the header `If-Match`";
  },
  idempotency: (sent) => (isRead(sent) ? undefined : "send it in the header `Idempotency-Key`"),
  force: (sent) => (sent.owner.kind === "delete" ? "leave it out; a delete needs no confirmation" : undefined),
  cacheBuster: () => "leave it out, since responses are never cached, or call it `_`, which is ignored",
  callback: () => "leave it out; scripts from any origin can read the response (CORS)",
};

const cursorAdvice = "send `since` with a cursor: the `Next` of an earlier page";
