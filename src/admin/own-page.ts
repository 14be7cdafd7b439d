// Checks which operator a page of the console belongs to. All tabs of a browser share the session cookie. So a page of one operator may still be open
// when another operator signs in, and it must not make changes in the name of the second.

import { ProblemError } from "../model/errors.ts";
import type { OperatorRecord } from "../system/system-records.ts";
import type { WireRequest } from "../wire/request.ts";

/** The header field with an ID of an operator: in a request, the operator of the page; in a response 409, the signed-in operator. */
const operatorField = "X-Operator";

/**
 * Requires that a request comes from a page of the signed-in operator. The field is required for a change. It is optional for a read, because
 * links to files cannot send it.
 * @throws ProblemError `conflict` with the field for a page of another operator, `bad-request` for a change without the field
 */
export function requireOwnPage({ method, headers }: WireRequest, operator: OperatorRecord): void {
  const shown = headers.get(operatorField.toLowerCase());
  if (shown === String(operator.ID)) return;
  if (shown === null) {
    if (method === "GET" || method === "HEAD") return;
    throw new ProblemError(
      "bad-request",
      `a change must say whose page it is: send \`${operatorField}\` with the ID of the operator`,
    );
  }
  throw new ProblemError(
    "conflict",
    `this page belongs to another operator than ${operator.Name}, who is signed in in this browser now; nothing was changed`,
    toOperatorHeader(operator),
  );
}

/** Returns the options of a ProblemError that contain the ID of the signed-in operator. */
export function toOperatorHeader({ ID }: OperatorRecord): { readonly headers: Readonly<Record<string, string>> } {
  return { headers: { [operatorField]: String(ID) } };
}
