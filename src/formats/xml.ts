import type { FeedChange } from "../model/change.ts";
import { recordEtag } from "../model/etag.ts";
import { toDeclaredJson } from "../model/record.ts";
import type { Resource } from "../model/resource.ts";
import { xmlBatch } from "./batch-xml.ts";
import type { Format, PlainDocument } from "./format.ts";
import { declaration, escapeEtag, escapeText, problemElement, recordElement } from "./xml-elements.ts";
import { decodeXml } from "./xml-records.ts";

export const xml: Format = {
  name: "xml",
  contentType: "application/xml; charset=utf-8",
  problemType: "application/problem+xml",
  decode: decodeXml,
  item: (resource, stored) => recordElement(resource, JSON.parse(stored)),
  part: recordElement,
  documentStart: declaration,
  listStart: `${declaration}<Results>`,
  separator: "",
  listEnd: "</Results>",
  problem: (problem) => declaration + problemElement(problem),
  document: (name, value) => declaration + plainElement(name, value),
  feed: {
    start: ({ next, hasMore }) => `${declaration}<Changes Next="${next}" More="${hasMore}">`,
    item: changeElement,
    separator: "",
    end: () => "</Changes>",
  },
  batch: xmlBatch,
};

function plainElement(name: string, value: PlainDocument[string] | PlainDocument): string {
  if (value === null) return "";
  const inside = Array.isArray(value)
    ? value.map((item) => plainElement(name.slice(0, -1), item))
    : typeof value === "object"
      ? Object.entries(value).map(([member, one]) => plainElement(member, one))
      : [escapeText(String(value))];
  return `<${name}>${inside.join("")}</${name}>`;
}

/** Only the double quotes of the entity tag need escaping. The other attributes are a cursor, a run, a time, names defined by this program, and numbers. */
function changeElement(resource: Resource, { cursor, epoch, change, run }: FeedChange): string {
  const { revision, at, operation, id, body } = change;
  const time = new Date(at).toISOString();
  const ofRun = run === undefined ? "" : ` Run="${run}"`;
  const start = `<Change Cursor="${cursor}" Revision="${revision}" Time="${time}" Operation="${operation}" Resource="${resource.path}" ID="${id}"${ofRun}`;
  if (operation === "delete") return `${start}/>`;
  const etag = escapeEtag(recordEtag(resource, "xml", epoch, revision));
  return `${start} ETag="${etag}">${recordElement(resource, JSON.parse(toDeclaredJson(resource, body)))}</Change>`;
}
