// Makes the XML Schema (1.0): for records from the resources' declarations, for other documents from their JSON Schemas. One type describes records in both
// responses and request bodies, so it doesn't require the ID or any element. The JSON Schema has separate types, and says which members are required.

import { type FaultParameters, faultParameters } from "../model/errors.ts";
import type { FieldGroup, Fields, TextField } from "../model/field.ts";
import { type Resource, writtenResources } from "../model/resource.ts";
import { shownDelivery, shownWebhook } from "../resources/webhook.ts";
import { batchSchemaNames, batchSchemas } from "./batch-schema.ts";
import { feedSchemas, pageSchemaName, type Schemas } from "./json-schema.ts";
import { keySchema, keySchemaName } from "./key-schema.ts";
import { faultParameterSchemas } from "./problem-schema.ts";

const start = `<?xml version="1.0" encoding="utf-8"?>\n<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"`;

/** Returns the document at `/schemas/storefront.xsd`. */
export function toXsd(resources: readonly Resource[]): string {
  const feed = feedSchemas(resources, "");
  const batch = batchSchemas(resources, "");
  const written = writtenResources(resources);
  const documents = [
    documentElement(pageSchemaName, feed, resources),
    ...Object.values(batchSchemaNames).map((name) => documentElement(name, batch, written)),
  ];
  const records = [...resources, shownWebhook, shownDelivery];
  return indented(`${start}>
<xs:import namespace="urn:ietf:rfc:7807" schemaLocation="problem.xsd"/>
${numberType("ID")}${numberType("Revision")}${records.map(recordElement).join("")}${listElement(records)}${documents.join("")}${plainElement(keySchema as DocumentSchema, keySchemaName)}</xs:schema>
`);
}

/** Indents a document with one tag per line. */
function indented(xml: string): string {
  let depth = 0;
  return xml.replace(/^<.*/gm, (line) => {
    if (line.startsWith("</")) depth--;
    const indent = "  ".repeat(depth);
    if (!/^<[?/]|<\/|\/>$/.test(line)) depth++;
    return indent + line;
  });
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
        <xs:element name="contact" type="xs:anyURI" minOccurs="0"/>
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
                    <xs:element name="code" type="xs:string" minOccurs="0"/>
${faultParameters.map(parameterElement).join("")}                  </xs:sequence>
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

function parameterElement(name: keyof FaultParameters): string {
  const { type } = faultParameterSchemas[name];
  const start = `                    <xs:element name="${name}"`;
  if (type !== "array") return `${start} type="xs:${type}" minOccurs="0"/>\n`;
  const items = `<xs:complexType><xs:sequence><xs:element name="i" type="xs:string" maxOccurs="unbounded"/></xs:sequence></xs:complexType>`;
  return `${start} minOccurs="0">${items}</xs:element>\n`;
}

/** A type for positive integers that all programs can read exactly. */
function numberType(name: string): string {
  return `<xs:simpleType name="${name}">
<xs:restriction base="xs:unsignedLong">
<xs:minInclusive value="1"/>
<xs:maxInclusive value="${Number.MAX_SAFE_INTEGER}"/>
</xs:restriction>
</xs:simpleType>
`;
}

/** The type has no name, because generators such as JAXB's only make root elements of such elements. */
function recordElement({ element, fields, description }: Resource): string {
  return `<xs:element name="${element}">
<xs:complexType>
${annotation(description)}<xs:all>
${fieldElements(fields)}</xs:all>
<xs:attribute name="ID" type="ID"/>
</xs:complexType>
</xs:element>
`;
}

/** A record's type doesn't require the ID, so in a list, an `xs:key` per resource does. */
function listElement(resources: readonly Resource[]): string {
  const lists = resources.map(({ element }) => `<xs:element ref="${element}" minOccurs="0" maxOccurs="unbounded"/>\n`);
  const keys = resources.map(
    ({ element }) => `<xs:key name="${element}ID"><xs:selector xpath="${element}"/><xs:field xpath="@ID"/></xs:key>\n`,
  );
  return `<xs:element name="Results">
<xs:complexType>
<xs:choice>
${lists.join("")}</xs:choice>
</xs:complexType>
${keys.join("")}</xs:element>
`;
}

/** The JSON Schema keywords we convert. */
interface DocumentSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, DocumentSchema>>;
  readonly required?: readonly string[];
  readonly items?: DocumentSchema & { readonly $ref?: string };
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly maximum?: number;
  readonly oneOf?: readonly { readonly $ref: string }[];
  readonly discriminator?: { readonly propertyName: string; readonly mapping: Readonly<Record<string, string>> };
  readonly xml?: { readonly name?: string; readonly attribute?: boolean };
}

/**
 * Returns the element of a document, or of an item in it, as its JSON Schema describes it.
 * @param name of the schema in `schemas`, whose references have no prefix
 * @param resources those whose records the document may contain
 */
function documentElement(name: string, schemas: Schemas, resources: readonly Resource[], isItem = false): string {
  const { oneOf, discriminator, ...schema } = schemas[name] as DocumentSchema;
  // The alternatives differ only in their resource.
  const { properties = {}, required = [] } = oneOf ? (schemas[oneOf[0]?.$ref ?? ""] as DocumentSchema) : schema;
  const attributes: string[] = [];
  const items: string[] = [];
  for (const [member, { xml, ...of }] of Object.entries(properties)) {
    const values = member === discriminator?.propertyName ? Object.keys(discriminator.mapping) : of.enum;
    const isRequired = required.includes(member) && !Array.isArray(of.type);
    if (xml?.attribute) attributes.push(attributeOf(member, of, isRequired, values));
    else if (of.items?.$ref) items.push(documentElement(of.items.$ref, schemas, resources, true));
  }
  const problem = '<xs:element xmlns:p="urn:ietf:rfc:7807" ref="p:problem"/>\n';
  // A result has a record or a problem. Elsewhere, the record can be absent.
  const [occurs, other] = "Problem" in properties ? ["", problem] : [' minOccurs="0"', ""];
  const choice =
    "Record" in properties ? `<xs:choice${occurs}>\n${recordReferences(resources)}${other}</xs:choice>\n` : "";
  const sequence = items.length === 0 ? "" : `<xs:sequence>\n${items.join("")}</xs:sequence>\n`;
  const occurrence = isItem ? ' minOccurs="0" maxOccurs="unbounded"' : "";
  return `<xs:element name="${schema.xml?.name}"${occurrence}>\n<xs:complexType>\n${choice}${sequence}${attributes.join("")}</xs:complexType>\n</xs:element>\n`;
}

/** Returns an element whose members are elements, in any order. @param occurs `minOccurs` and `maxOccurs` */
function plainElement(schema: DocumentSchema, name: string, occurs = ""): string {
  const { properties, required = [], items } = schema;
  const members = Object.entries(properties ?? {}).map(([member, one]) =>
    plainElement(one, member, required.includes(member) && !Array.isArray(one.type) ? "" : ' minOccurs="0"'),
  );
  const element = `<xs:element name="${name}"`;
  const inside = items
    ? `<xs:sequence>\n${plainElement(items, items.xml?.name ?? "", ' minOccurs="0" maxOccurs="unbounded"')}</xs:sequence>\n`
    : `<xs:all>\n${members.join("")}</xs:all>\n`;
  return items || properties
    ? `${element}${occurs}>\n<xs:complexType>\n${inside}</xs:complexType>\n</xs:element>\n`
    : `${element} type="${simpleType(schema)}"${occurs}/>\n`;
}

/** @param numberName of the type for IDs or revisions */
function simpleType({ type, format, maximum }: DocumentSchema, numberName = "ID"): string {
  if (maximum === Number.MAX_SAFE_INTEGER) return numberName;
  if (format === "date-time") return "xs:dateTime";
  const [name] = [type].flat();
  return { integer: "xs:unsignedInt", number: "xs:decimal", boolean: "xs:boolean" }[name ?? ""] ?? "xs:string";
}

function recordReferences(resources: readonly Resource[]): string {
  return resources.map(({ element }) => `<xs:element ref="${element}"/>\n`).join("");
}

function attributeOf(
  name: string,
  schema: DocumentSchema,
  isRequired: boolean,
  values: readonly string[] | undefined,
): string {
  const use = isRequired ? ' use="required"' : "";
  if (values) {
    const choices = values.map((value) => `<xs:enumeration value="${value}"/>\n`).join("");
    return `<xs:attribute name="${name}"${use}>\n<xs:simpleType>\n<xs:restriction base="xs:string">\n${choices}</xs:restriction>\n</xs:simpleType>\n</xs:attribute>\n`;
  }
  return `<xs:attribute name="${name}" type="${simpleType(schema, name)}"${use}/>\n`;
}

function fieldElements(fields: Fields): string {
  return Object.entries(fields)
    .map(([name, field]) => {
      const type = field.kind === "text" ? textType(field) : groupType(field);
      return `<xs:element name="${name}" minOccurs="0">\n${annotation(field.description)}${type}</xs:element>\n`;
    })
    .join("");
}

function groupType({ fields }: FieldGroup): string {
  return `<xs:complexType>\n<xs:all>\n${fieldElements(fields)}</xs:all>\n</xs:complexType>\n`;
}

function textType(field: TextField): string {
  const facets = [
    ...(field.required ? [`<xs:minLength value="1"/>\n`] : []),
    `<xs:maxLength value="${field.max}"/>\n`,
    ...(field.pattern ? [`<xs:pattern value="${escaped(toXsdPattern(field.pattern.source))}"/>\n`] : []),
  ];
  return `<xs:simpleType>\n<xs:restriction base="xs:string">\n${facets.join("")}</xs:restriction>\n</xs:simpleType>\n`;
}

/** XML Schema patterns always apply to the whole value, and have no non-capturing groups (part 2, appendix F). */
function toXsdPattern(source: string): string {
  return source.replace(/^\^/, "").replace(/\$$/, "").replaceAll("(?:", "(");
}

function annotation(text: string): string {
  return `<xs:annotation><xs:documentation>${escaped(text)}</xs:documentation></xs:annotation>\n`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
