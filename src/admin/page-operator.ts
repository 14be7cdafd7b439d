// Whose page a request comes from. The session is a cookie, which all tabs of a browser share: a page that shows one operator may be open when
// another one signs in. It must not make changes in the name of the other.

import { Refusal } from "../model/errors.ts";
import type { OperatorRecord } from "../operator/operators.ts";
import type { WireRequest } from "../wire/request.ts";

/** The field with the ID of the operator whom the page shows; in a refusal, of the operator who is signed in. */
const field = "X-Operator";

/**
 * Checks that a request comes from a page of the operator who is signed in. A change has to say whose page it is; a read may, because links to files
 * cannot.
 * @throws Refusal `conflict` with the field for another operator, `bad-request` for a change without the field
 */
export function requireOwnPage({ method, headers }: WireRequest, operator: OperatorRecord): void {
  const shown = headers.get(field.toLowerCase());
  if (shown === String(operator.ID)) return;
  if (shown === null) {
    if (method === "GET" || method === "HEAD") return;
    throw new Refusal(
      "bad-request",
      `a change must say whose page it is: send \`${field}\` with the ID of the operator`,
    );
  }
  throw new Refusal(
    "conflict",
    `this page belongs to another operator than ${operator.Name}, who is signed in in this browser now; nothing was changed`,
    toOperatorHeader(operator),
  );
}

/** The options of a refusal that tell the page who is signed in. */
export function toOperatorHeader({ ID }: OperatorRecord): { readonly headers: Readonly<Record<string, string>> } {
  return { headers: { [field]: String(ID) } };
}
