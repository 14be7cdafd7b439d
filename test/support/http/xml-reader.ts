// Validates XML responses against the XSD, and converts them to the form that the OpenAPI document describes. It uses libxml2, because the server's own reader
// shouldn't check the server's writer.

import {
  ParseOption,
  XmlBufferInputProvider,
  XmlDocument,
  XmlElement,
  XsdValidator,
  xmlRegisterInputProvider,
} from "libxml2-wasm";
import type { Field, Fields } from "../../../src/model/field.ts";
import { publicResources, type Resource } from "../../../src/model/resource.ts";
import { toProblemXsd, toXsd } from "../../../src/reference/xsd.ts";
import { shownDelivery, shownWebhook } from "../../../src/resources/webhook.ts";

const problemXsd = new TextEncoder().encode(toProblemXsd());
xmlRegisterInputProvider(new XmlBufferInputProvider({ "memory:/schemas/problem.xsd": problemXsd }));

/** Reads an XML response. Throws if the XSD doesn't allow it. */
export function createXmlReader(resources: readonly Resource[]): (text: string) => unknown {
  const served = publicResources(resources);
  const xsd = XmlDocument.fromString(toXsd(served), { url: "memory:/schemas/storefront.xsd" });
  const validator = XsdValidator.fromDoc(xsd);
  return (text) => {
    if (!text.startsWith('<?xml version="1.0" encoding="utf-8"?>\n')) throw new Error("the XML declaration is missing");
    const document = XmlDocument.fromString(text, { option: ParseOption.XML_PARSE_NONET });
    try {
      validator.validate(document);
      return toValue(document.root, [...served, shownWebhook, shownDelivery]);
    } finally {
      document.dispose();
    }
  };
}

function toValue(root: XmlElement, resources: readonly Resource[]): unknown {
  if (root.name === "problem") return toProblem(root);
  if (root.name === "Results") return childrenOf(root).map((child) => toValue(child, resources));
  if (root.name === "Changes") return toChanges(root, resources);
  if (root.name === "BatchResults") return toBatchResults(root, resources);
  if (root.name === "Undone") return toUndone(root);
  if (root.name === "Key") return toKey(root);
  const resource = resources.find(({ element }) => element === root.name) as Resource;
  return { ID: Number(root.attr("ID")?.value), ...toFields(root, resource.fields) };
}

function toKey(root: XmlElement): unknown {
  const nulls = { Expires: null, Rate: null, Burst: null, Remaining: null };
  const members = childrenOf(root).map((member): [string, unknown] => {
    const { name, content } = member;
    if (name === "Rights" || name === "Networks") return [name, childrenOf(member).map((item) => item.content)];
    if (name === "Sandbox") return [name, content === "true"];
    return [name, /^(?:SiteID|Rate|Burst|Remaining)$/.test(name) ? Number(content) : content];
  });
  return { ...nulls, ...Object.fromEntries(members) };
}

function attributesOf(element: XmlElement): Record<string, string> {
  return Object.fromEntries(element.attrs.map(({ name, value }) => [name, value]));
}

function toBatchResults(root: XmlElement, resources: readonly Resource[]): unknown {
  const { Run = null } = attributesOf(root);
  const results = childrenOf(root).map((result) => {
    const { Status, Changed, ...attributes } = attributesOf(result);
    const [content] = childrenOf(result) as [XmlElement];
    const value = toValue(content, resources);
    const rest = Changed === undefined ? {} : { Changed: Changed === "true" };
    return {
      Status: Number(Status),
      ...rest,
      ...attributes,
      [content.name === "problem" ? "Problem" : "Record"]: value,
    };
  });
  return { Run, Results: results };
}

function toUndone(root: XmlElement): unknown {
  const { Run = null, ...counts } = attributesOf(root);
  const skipped = childrenOf(root).map((record) => {
    const { Resource, ...numbers } = attributesOf(record);
    return { Resource, ...toNumbers(numbers) };
  });
  return { Run, ...toNumbers(counts), Skipped: skipped };
}

function toNumbers(values: Record<string, string>): Record<string, number> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
}

function toChanges(root: XmlElement, resources: readonly Resource[]): unknown {
  const { Next, More, ...others } = attributesOf(root);
  const changes = childrenOf(root).map((change) => {
    const { ID, Revision, ETag = null, ...attributes } = attributesOf(change);
    const [record] = childrenOf(change);
    const numbers = { ID: Number(ID), Revision: Number(Revision) };
    return { ...attributes, ...numbers, ETag, Record: record ? toValue(record, resources) : null };
  });
  return { Changes: changes, Next, More: More === "true", ...others };
}

function toFields(element: XmlElement, fields: Fields): Record<string, unknown> {
  return Object.fromEntries(
    childrenOf(element).map((child) => {
      const field = fields[child.name] as Field;
      return [child.name, field.kind === "group" ? toFields(child, field.fields) : child.content];
    }),
  );
}

function toProblem(root: XmlElement): unknown {
  return Object.fromEntries(
    childrenOf(root).map((child) => {
      if (child.name === "status") return ["status", Number(child.content)];
      if (child.name !== "errors") return [child.name, child.content];
      return [
        "errors",
        childrenOf(child).map((fault) =>
          Object.fromEntries(childrenOf(fault).map((part) => [part.name, toMember(part)])),
        ),
      ];
    }),
  );
}

function toMember(part: XmlElement): unknown {
  const { name, content } = part;
  if (name === "choices") return childrenOf(part).map((item) => item.content);
  return ["line", "column", "operation", "min", "max", "count"].includes(name) ? Number(content) : content;
}

function childrenOf(element: XmlElement): XmlElement[] {
  const children: XmlElement[] = [];
  for (let child = element.firstChild; child; child = child.next) if (child instanceof XmlElement) children.push(child);
  return children;
}
