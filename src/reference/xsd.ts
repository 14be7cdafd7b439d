// Makes the XML Schema (1.0) from the declarations of the resources. One type describes a record in responses and in request bodies, so the type does
// not require the ID or any element. The JSON Schema has a type for each of them, and says which members are required.

import type { FieldGroup, Fields, TextField } from "../model/field.ts";
import type { Resource } from "../model/resource.ts";
import { batchElements, choiceAttribute } from "./batch-xsd.ts";

const start = `<?xml version="1.0" encoding="utf-8"?>\n<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"`;

/** Returns the document at `/schemas/storefront.xsd`. */
export function toXsd(resources: readonly Resource[]): string {
  return `${start}>
  <xs:import namespace="urn:ietf:rfc:7807" schemaLocation="problem.xsd"/>
${numberType("ID")}${numberType("Revision")}${resources.map(recordType).join("")}${listElement(resources)}${feedElement(resources)}${batchElements(resources)}</xs:schema>
`;
}

/** Returns the document at `/schemas/problem.xsd` (RFC 9457 appendix B, with the namespace of RFC 7807). */
export function toProblemXsd(): string {
  return `${start} targetNamespace="urn:ietf:rfc:7807" elementFormDefault="qualified">
  <xs:element name="problem">
    <xs:complexType>
      <xs:sequence>
        <xs:element name="type" type="xs:anyURI"/>
        <xs:element name="title" type="xs:string"/>
        <xs:element name="status" type="xs:unsignedShort"/>
        <xs:element name="detail" type="xs:string"/>
        <xs:element name="instance" type="xs:anyURI"/>
        <xs:element name="errors" minOccurs="0">
          <xs:complexType>
            <xs:sequence>
              <xs:element name="i" maxOccurs="unbounded">
                <xs:complexType>
                  <xs:sequence>
                    <xs:element name="operation" type="xs:positiveInteger" minOccurs="0"/>
                    <xs:element name="field" type="xs:string"/>
                    <xs:element name="detail" type="xs:string"/>
                    <xs:element name="line" type="xs:positiveInteger" minOccurs="0"/>
                    <xs:element name="column" type="xs:positiveInteger" minOccurs="0"/>
                  </xs:sequence>
                </xs:complexType>
              </xs:element>
            </xs:sequence>
          </xs:complexType>
        </xs:element>
      </xs:sequence>
    </xs:complexType>
  </xs:element>
</xs:schema>
`;
}

/** Returns a type for the numbers from 1 that every program can read exactly. */
function numberType(name: string): string {
  return `  <xs:simpleType name="${name}">
    <xs:restriction base="xs:unsignedLong">
      <xs:minInclusive value="1"/>
      <xs:maxInclusive value="${Number.MAX_SAFE_INTEGER}"/>
    </xs:restriction>
  </xs:simpleType>
`;
}

function recordType({ element, fields, description }: Resource): string {
  return `  <xs:element name="${element}" type="${element}"/>
  <xs:complexType name="${element}">
${annotation(description, "    ")}    <xs:all>
${fieldElements(fields, "      ")}    </xs:all>
    <xs:attribute name="ID" type="ID"/>
  </xs:complexType>
`;
}

/** Returns the element of a list. An `xs:key` per resource requires the ID of each record, because the type of a record does not require it. */
function listElement(resources: readonly Resource[]): string {
  const lists = resources.map(
    ({ element }) => `        <xs:element name="${element}" type="${element}" minOccurs="0" maxOccurs="unbounded"/>\n`,
  );
  const keys = resources.map(
    ({ element }) =>
      `    <xs:key name="${element}ID"><xs:selector xpath="${element}"/><xs:field xpath="@ID"/></xs:key>\n`,
  );
  return `  <xs:element name="Results">
    <xs:complexType>
      <xs:choice>
${lists.join("")}      </xs:choice>
    </xs:complexType>
${keys.join("")}  </xs:element>
`;
}

/** Returns the element of a feed page. A change without a record is a delete. */
function feedElement(resources: readonly Resource[]): string {
  const records = resources.map(({ element }) => `              <xs:element name="${element}" type="${element}"/>\n`);
  const operations = choiceAttribute("Operation", ["create", "update", "delete"]);
  return `  <xs:element name="Changes">
    <xs:complexType>
      <xs:sequence>
        <xs:element name="Change" minOccurs="0" maxOccurs="unbounded">
          <xs:complexType>
            <xs:choice minOccurs="0">
${records.join("")}            </xs:choice>
            <xs:attribute name="Cursor" type="xs:string" use="required"/>
            <xs:attribute name="Revision" type="Revision" use="required"/>
            <xs:attribute name="Time" type="xs:dateTime" use="required"/>
${operations}${choiceAttribute(
  "Resource",
  resources.map(({ path }) => path),
)}            <xs:attribute name="ID" type="ID" use="required"/>
            <xs:attribute name="ETag" type="xs:string"/>
            <xs:attribute name="Run" type="xs:string"/>
          </xs:complexType>
        </xs:element>
      </xs:sequence>
      <xs:attribute name="Next" type="xs:string" use="required"/>
      <xs:attribute name="More" type="xs:boolean" use="required"/>
    </xs:complexType>
  </xs:element>
`;
}

function fieldElements(fields: Fields, indent: string): string {
  return Object.entries(fields)
    .map(([name, field]) => {
      const inner = `${indent}  `;
      const type = field.kind === "text" ? textType(field, inner) : groupType(field, inner);
      const content = annotation(field.description, inner) + type;
      return `${indent}<xs:element name="${name}" minOccurs="0">\n${content}${indent}</xs:element>\n`;
    })
    .join("");
}

function groupType({ fields }: FieldGroup, indent: string): string {
  const elements = fieldElements(fields, `${indent}    `);
  return `${indent}<xs:complexType>\n${indent}  <xs:all>\n${elements}${indent}  </xs:all>\n${indent}</xs:complexType>\n`;
}

function textType(field: TextField, indent: string): string {
  const facets = [
    ...(field.required ? [`<xs:minLength value="1"/>`] : []),
    `<xs:maxLength value="${field.max}"/>`,
    ...(field.pattern ? [`<xs:pattern value="${escaped(toXsdPattern(field.pattern.source))}"/>`] : []),
  ];
  const lines = facets.map((facet) => `${indent}    ${facet}\n`).join("");
  return `${indent}<xs:simpleType>\n${indent}  <xs:restriction base="xs:string">\n${lines}${indent}  </xs:restriction>\n${indent}</xs:simpleType>\n`;
}

/** Converts a pattern. A pattern of XML Schema always applies to the whole value, and has no non-capturing groups (part 2, appendix F). */
function toXsdPattern(source: string): string {
  return source.replace(/^\^/, "").replace(/\$$/, "").replaceAll("(?:", "(");
}

function annotation(text: string, indent: string): string {
  return `${indent}<xs:annotation><xs:documentation>${escaped(text)}</xs:documentation></xs:annotation>\n`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
