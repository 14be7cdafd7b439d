import type { Format } from "./format.ts";
import { json } from "./json.ts";
import { xml } from "./xml.ts";

/** The formats of the interface, the usual one first. */
export const formats: readonly Format[] = [json, xml];
