// Attributes that any XML document may have, whatever its schema says: namespace declarations, `xml:lang` and the like, and those that name a schema (XML Schema
// 1.0 part 1, section 2.6). Serializers add them, and we ignore them.

import { type Fault, fault } from "../model/errors.ts";
import type { XmlElement } from "./xml-parser.ts";

const instanceNamespace = "http://www.w3.org/2001/XMLSchema-instance";
const instanceNames = ["schemaLocation", "noNamespaceSchemaLocation", "type", "nil"];
const ignoredXmlNames = ["lang", "space", "base"];

/**
 * Yields the attributes of an element that it must not have, each with its fault, if there is more to do than to remove it. The name is empty if
 * the fault is in the element itself.
 * @param path the element after those that contain it, outermost first; they declare its prefixes
 * @param own the names of the attributes that the element has
 * @param toEmpty how to send the element without a value
 */
export function* unknownAttributes(
  path: readonly XmlElement[],
  own: readonly string[],
  toEmpty = "send it empty",
): Generator<[name: string, fault: Fault | undefined]> {
  const element = path.at(-1) as XmlElement;
  for (const [name, value] of element.attributes) {
    if (own.includes(name)) continue;
    const [, prefix = "", local = ""] = /^([^:]*):(.*)$/.exec(name) ?? [];
    const namespace = namespaceOf(prefix, path);
    const isInstance = namespace === instanceNamespace || (name === "xsi:nil" && namespace === undefined);
    if (name === "xmlns") {
      if (value !== "") yield [name, fault("unknown-field", "; elements have no namespace here, so leave out `xmlns`")];
    } else if (prefix === "xmlns" || (prefix === "xml" && ignoredXmlNames.includes(local))) continue;
    else if (!isInstance)
      yield [name, prefix === "xsi" && instanceNames.includes(local) ? undeclaredPrefix : undefined];
    else if (local === "nil") {
      if (!/^\s*(?:false|0)\s*$/.test(value))
        yield ["", fault("invalid", `\`${name}\` isn't supported; leave out the element, or ${toEmpty}`)];
    } else if (local === "type") {
      const type = value.trim().replace(/^.*:/, "");
      if (type !== element.name && type !== "string")
        yield [name, fault("unknown-field", "; leave it out, because each element has only one type here")];
    } else if (!instanceNames.includes(local)) yield [name, undefined];
  }
}

const undeclaredPrefix = fault("unknown-field", `; declare its prefix with \`xmlns:xsi="${instanceNamespace}"\``);

/** Returns the namespace of a prefix; undefined if no element of the path declares it. */
function namespaceOf(prefix: string, path: readonly XmlElement[]): string | undefined {
  const declaration = `xmlns:${prefix}`;
  return path.findLast(({ attributes }) => attributes.has(declaration))?.attributes.get(declaration);
}
