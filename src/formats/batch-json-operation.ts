// Reads one operation of a batch request in JSON. Its record is parsed alone, so that it has the same limits and errors as the body of a request with
// one record. An operation without errors is read once, and a canonical record is not parsed at all.
//
// An example: {"Method":"PUT","Resource":"brands","ID":12,"Record":{"Name":"Acme"}}
//
// (1) `#members` finds the text of each value without parsing it: "PUT", "brands", 12, {"Name":"Acme"}. It first expects the next name in the usual order.
// (2) `#value` converts usual values: `PUT` is in a map, and 12 is a number by its form. `EnvelopeParser` checks them.
// (3) {"Name":"Acme"} is canonical: it is valid, and stored as it was sent. So the text is kept, and nothing is parsed (`canonicalIn`).
// (4) A record in another form, for example with white space, is parsed as a body would be (`#record`) and validated. Its text is kept too, not its values.
// (5) At the first error of form, the whole operation is parsed, only to find the first error in it (`#syntaxError`).

import { type ErrorBudget, type FieldError, fullLimits } from "../model/errors.ts";
import { describeNonObject } from "../model/field.ts";
import {
  addFault,
  addOperationNumber,
  type Envelope,
  type EnvelopeParser,
  longOperationError,
  maxFaults,
  memberNames,
  noSuchMember,
  type OperationPlace,
  requireShort,
} from "./batch-envelope.ts";
import type { MalformedOperation, ReadOperation, SentOperation } from "./batch-format.ts";
import { canonicalIn, TextRecord, type ValidatedRecord, validate } from "./canonical-record.ts";
import type { Decoded } from "./format.ts";
import { endOfItem, endOfString } from "./json-items.ts";
import { parseJson } from "./json-parser.ts";
import { malformedErrorAt, maxItemLength, maxValues, type Position, positionOf } from "./syntax-errors.ts";

/**
 * Reads an operation.
 * @param from the position of the operation in the body, for errors
 * @param errors those of the records of the request
 * @throws ProblemError `bad-request` if it cannot be parsed, `too-large` if it has more than `maxItemLength` bytes
 */
export function readJsonOperation(
  place: OperationPlace,
  from: Position,
  envelopes: EnvelopeParser,
  errors: ErrorBudget,
): ReadOperation {
  return new OperationReader(place, from).read(envelopes, errors);
}

/** The JSON text of each name. */
const namesInJson = memberNames.map((name) => JSON.stringify(name));
const methodIndex = memberNames.indexOf("Method");
const resourceIndex = memberNames.indexOf("Resource");
const idIndex = memberNames.indexOf("ID");
const ifMatchIndex = memberNames.indexOf("IfMatch");
const recordIndex = memberNames.indexOf("Record");

/** Maximum values of an operation that are parsed to find an error in it. */
const maxParsedValues = 10 * maxValues;

/** The values that need no parsing, by their JSON text. */
const usualValues = new Map(["POST", "PUT", "PATCH", "DELETE"].map((value) => [JSON.stringify(value), value]));

function parseAgain(json: string): unknown {
  return parseJson(json, maxValues).input;
}

class OperationReader {
  readonly #place: OperationPlace;
  readonly #text: string;
  readonly #from: Position;
  /** The index at which reading stops. */
  readonly #limit: number;
  readonly #faults: FieldError[] = [];
  /** The JSON text of each member, in the order of `memberNames`. */
  readonly #json: (string | undefined)[] = [undefined, undefined, undefined, undefined, undefined];
  #recordStart = 0;
  #at: number;

  constructor(place: OperationPlace, from: Position) {
    this.#place = place;
    this.#text = place.text;
    this.#from = from;
    this.#at = place.begin;
    this.#limit = Math.min(place.text.length, place.begin + maxItemLength);
  }

  read(envelopes: EnvelopeParser, errors: ErrorBudget): ReadOperation {
    const { begin, number } = this.#place;
    if (!this.#skip("{")) return this.#otherValue();
    this.#members();
    requireShort(this.#place, this.#at);
    if (this.#isFaulty) return this.#malformed();
    const sent = {
      Method: this.#value(methodIndex),
      Resource: this.#value(resourceIndex),
      ID: this.#value(idIndex),
      IfMatch: this.#value(ifMatchIndex),
    };
    const envelope = envelopes.parse(sent, this.#faults);
    if (this.#faults.length > 0) return this.#malformed();
    const { method, resource, id, ifMatch } = envelope as Envelope;
    const record = this.#recordOf(envelope as Envelope, errors);
    return { number, method, resource, id, ifMatch, ...record, length: this.#at - begin };
  }

  /** Returns the operation, which has faults. Its record is not parsed: only its type is checked. */
  #malformed(): MalformedOperation {
    const { begin, number } = this.#place;
    const record = this.#json[recordIndex];
    if (record !== undefined && !record.startsWith("{")) {
      // A long list isn't parsed for its type.
      const value = record.startsWith("[") && !/^\[\s*\]$/.test(record) ? [null] : this.#parse(record);
      addFault(this.#faults, "Record", `must be an object, not ${describeNonObject(value)}`);
    }
    return { number, faults: this.#faults, length: this.#at - begin };
  }

  #recordOf(envelope: Envelope, errors: ErrorBudget): ValidatedRecord & Pick<SentOperation, "record"> {
    const json = this.#json[recordIndex];
    if (json === undefined) return { record: undefined, limits: fullLimits };
    const canonical = canonicalIn(envelope, json);
    if (canonical) return { record: new TextRecord(json), canonical, limits: fullLimits };
    const { input, fieldErrors } = this.#record(json);
    const validated = validate(envelope, { input, fieldErrors }, errors);
    const kept = validated.problem ? fieldErrors.slice(0, validated.limits.maxErrors + 1) : [];
    return { record: new TextRecord(json, kept, parseAgain), ...validated };
  }

  #members(): void {
    let expected = 0;
    this.#skipSpace();
    if (this.#skip("}")) return;
    do {
      if (this.#isFaulty) {
        this.#skipRest();
        return;
      }
      this.#skipSpace();
      const index = this.#name(expected);
      this.#skipSpace();
      if (!this.#skip(":")) throw this.#syntaxError();
      this.#skipSpace();
      const end = endOfItem(this.#text, this.#at, this.#limit);
      if (end === undefined || end === this.#at) throw this.#syntaxError(end === undefined);
      if (index !== undefined) {
        this.#add(index, end);
        expected = index + 1;
      }
      this.#at = end;
      this.#skipSpace();
    } while (this.#skip(","));
    if (!this.#skip("}")) throw this.#syntaxError();
  }

  /** Whether no more faults are collected. */
  get #isFaulty(): boolean {
    return this.#faults.length >= maxFaults;
  }

  /** Skips the other members, which may be many. */
  #skipRest(): void {
    const end = endOfItem(this.#text, this.#place.begin, this.#limit);
    if (end === undefined) throw this.#syntaxError(true);
    this.#at = end;
  }

  /** Adds the member whose value begins at the index `#at` and ends before the index `end`. */
  #add(index: number, end: number): void {
    if (this.#json[index] !== undefined) addFault(this.#faults, memberNames[index] as string, "appears more than once");
    this.#json[index] = this.#text.slice(this.#at, end);
    if (index === recordIndex) this.#recordStart = this.#at;
  }

  /**
   * Reads the name of a member. Returns its index in `memberNames`, or undefined after it has added a fault.
   * @param expected the index of the name that is tried first
   */
  #name(expected: number): number | undefined {
    const start = this.#at;
    for (let count = 0; count < namesInJson.length; count++) {
      const index = (expected + count) % namesInJson.length;
      const name = namesInJson[index] as string;
      if (!this.#text.startsWith(name, start)) continue;
      this.#at += name.length;
      return index;
    }
    if (this.#text[start] !== '"') throw this.#syntaxError();
    const end = endOfString(this.#text, start + 1, this.#limit);
    if (end === -1) throw this.#syntaxError(true);
    this.#at = end + 1;
    return this.#indexOfUnusualName(this.#text.slice(start, end + 1));
  }

  /** Returns the index of a name that is written with escapes, or undefined after it has added a fault. @param json the JSON text of the name */
  #indexOfUnusualName(json: string): number | undefined {
    const name = String(this.#parse(json));
    const index = memberNames.indexOf(name);
    if (index !== -1) return index;
    this.#faults.push({ field: name.slice(0, 100), detail: noSuchMember(name, memberNames) });
    return undefined;
  }

  /** Returns the value of a member; undefined if it is absent. */
  #value(index: number): unknown {
    const json = this.#json[index];
    if (json === undefined) return undefined;
    return usualValues.get(json) ?? (/^[1-9][0-9]{0,14}$/.test(json) ? Number(json) : this.#parse(json));
  }

  /** Parses a part of the operation. */
  #parse(json: string): unknown {
    try {
      // For the text of a string, the parser of the runtime does the same.
      return json.startsWith('"') ? JSON.parse(json) : parseJson(json, maxValues).input;
    } catch {
      throw this.#syntaxError();
    }
  }

  /** Decodes the record, as a body with one record is decoded. */
  #record(json: string): Decoded {
    const { text, begin, number } = this.#place;
    try {
      return parseJson(json, maxValues, () => positionOf(text, this.#recordStart, this.#from, begin));
    } catch (error) {
      throw addOperationNumber(number, error);
    }
  }

  /** Reads another value in place of the operation. */
  #otherValue(): MalformedOperation {
    const end = endOfItem(this.#text, this.#at, this.#limit);
    if (end === undefined || end === this.#at) throw this.#syntaxError(end === undefined);
    const detail = `must be an object, not ${describeNonObject(this.#parse(this.#text.slice(this.#at, end)))}`;
    this.#at = end;
    this.#faults.push({ field: "", detail });
    return this.#malformed();
  }

  /**
   * Returns the error of an operation that is not valid JSON. It is parsed again, so the parser reports the first error.
   * @param isOpen whether the search for an end has reached the limit
   */
  #syntaxError(isOpen = this.#at >= this.#limit): unknown {
    const { text, begin, number } = this.#place;
    if (isOpen && this.#limit < text.length) return longOperationError(number);
    try {
      parseJson(text.slice(begin, this.#limit), maxParsedValues, () => this.#from);
    } catch (error) {
      return addOperationNumber(number, error);
    }
    return addOperationNumber(
      number,
      malformedErrorAt("valid JSON", this.#from, "the operation that begins here is malformed"),
    );
  }

  #skipSpace(): void {
    const text = this.#text;
    let at = this.#at;
    let code = text.charCodeAt(at);
    while ((code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) && at < this.#limit) {
      code = text.charCodeAt(++at);
    }
    this.#at = at;
  }

  #skip(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }
}
