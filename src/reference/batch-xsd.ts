// The parts of the XML Schema for batch requests and undo, and for their responses (contract section 14).

import { type Resource, writtenResources } from "../model/resource.ts";

/** Returns the elements of the documents. */
export function batchElements(resources: readonly Resource[]): string {
  const written = writtenResources(resources);
  return requestElement(written) + responseElement(written) + undoElements(written);
}

function requestElement(resources: readonly Resource[]): string {
  const methods = ["POST", "PUT", "PATCH", "DELETE"];
  return documentElement(
    "Batch",
    `        <xs:element name="Operation" minOccurs="0" maxOccurs="unbounded">
          <xs:complexType>
            <xs:choice minOccurs="0">
${recordElements(resources)}            </xs:choice>
${choiceAttribute("Method", methods)}${resourceAttribute(resources)}            <xs:attribute name="ID" type="ID"/>
            <xs:attribute name="IfMatch" type="xs:string"/>
          </xs:complexType>
        </xs:element>
`,
  );
}

/** Returns the element of the response to a batch request. A result has a record or a problem. */
function responseElement(resources: readonly Resource[]): string {
  return documentElement(
    "BatchResults",
    `        <xs:element name="Result" minOccurs="0" maxOccurs="unbounded">
          <xs:complexType>
            <xs:choice>
${recordElements(resources)}              <xs:element xmlns:p="urn:ietf:rfc:7807" ref="p:problem"/>
            </xs:choice>
            <xs:attribute name="Status" type="xs:unsignedShort" use="required"/>
            <xs:attribute name="Changed" type="xs:boolean"/>
            <xs:attribute name="ETag" type="xs:string"/>
          </xs:complexType>
        </xs:element>
`,
    `      <xs:attribute name="Run" type="xs:string"/>
`,
  );
}

function undoElements(resources: readonly Resource[]): string {
  const counts = ["Deleted", "Restored", "Unchanged"].map(
    (name) => `      <xs:attribute name="${name}" type="xs:unsignedInt" use="required"/>\n`,
  );
  const skipped = `        <xs:element name="Skipped" minOccurs="0" maxOccurs="unbounded">
          <xs:complexType>
${resourceAttribute(resources)}            <xs:attribute name="ID" type="ID" use="required"/>
            <xs:attribute name="Revision" type="Revision" use="required"/>
          </xs:complexType>
        </xs:element>
`;
  return `  <xs:element name="Undo">
    <xs:complexType>
      <xs:attribute name="Run" type="xs:string" use="required"/>
    </xs:complexType>
  </xs:element>
${documentElement("Undone", skipped, `      <xs:attribute name="Run" type="xs:string"/>\n${counts.join("")}`)}`;
}

function documentElement(name: string, items: string, attributes = ""): string {
  return `  <xs:element name="${name}">
    <xs:complexType>
      <xs:sequence>
${items}      </xs:sequence>
${attributes}    </xs:complexType>
  </xs:element>
`;
}

function recordElements(resources: readonly Resource[]): string {
  return resources.map(({ element }) => `              <xs:element name="${element}" type="${element}"/>\n`).join("");
}

function resourceAttribute(resources: readonly Resource[]): string {
  return choiceAttribute(
    "Resource",
    resources.map(({ path }) => path),
  );
}

/** Returns a required attribute of an item, which has one of these values. */
export function choiceAttribute(name: string, values: readonly string[]): string {
  const choices = values.map((value) => `                  <xs:enumeration value="${value}"/>\n`);
  return `            <xs:attribute name="${name}" use="required">
              <xs:simpleType>
                <xs:restriction base="xs:string">
${choices.join("")}                </xs:restriction>
              </xs:simpleType>
            </xs:attribute>
`;
}
