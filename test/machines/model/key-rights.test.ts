// A key's rights as text, compared and combined. A model lists what each of a few words grants.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { allRights, KeyRights, toKeyRights } from "../../../src/model/key-rights.ts";
import { narrowedValues } from "../../../src/operator/backup/recorded-limits.ts";
import { allResources } from "../../../src/resources/all.ts";
import { key as keyResource } from "../../../src/resources/key.ts";
import "../../support/property-seed.ts";

const rights = allRights(allResources);
const word = fc.constantFrom(...rights, "read", "write", "none", "later:admin", "admin");
const words = fc.array(word, { maxLength: 5 });

function granted(of: readonly string[]): string[] {
  return rights.filter((right) => {
    const isRead = right.endsWith(":read");
    return (
      of.includes(right) ||
      (isRead && (of.includes("read") || of.includes("write") || of.includes(right.replace(/read$/, "write")))) ||
      (!isRead && right !== "webhooks:write" && of.includes("write"))
    );
  });
}

const allowedBy = (one: KeyRights) => rights.filter((right) => one.allows(right));

test("words grant what the model says, and the stored text grants the same", () => {
  fc.assert(
    fc.property(words, (some) => {
      const one = new KeyRights(some);
      expect(allowedBy(one)).toEqual([...granted(some)] as never);
      expect(allowedBy(toKeyRights(one.text))).toEqual(allowedBy(one));
      expect(new KeyRights(one.text.split(" ")).text).toBe(one.text);
    }),
  );
});

test("an intersection allows what both allow, and is included in both", () => {
  fc.assert(
    fc.property(words, words, (some, others) => {
      const [one, other] = [new KeyRights(some), new KeyRights(others)];
      const both = one.intersect(other);
      expect(allowedBy(both)).toEqual(allowedBy(one).filter((right) => other.allows(right)));
      expect([one.includes(both), other.includes(both), one.includes(one)]).toEqual([true, true, true]);
      if (one.includes(other)) expect(allowedBy(other).filter((right) => !one.allows(right))).toEqual([]);
    }),
  );
});

test.each([
  ["brands:read brands:write", "brands:write"],
  ["write read brands:read webhooks:write", "write webhooks:write"],
  ["read brands:write changes:read", "read brands:write"],
  ["", "none"],
])("%j is stored as %j", (text, stored) => {
  expect(toKeyRights(text).text).toBe(stored);
});

test.each([
  ["Scope", "write", "brands:write", "brands:write"],
  ["Scope", "brands:write", "read", "brands:read"],
  ["Scope", "brands:write", "orderstatuses:write", "none"],
  ["Scope", "write webhooks:write", "write", "write"],
  ["Scope", "read", "write", undefined],
  ["Scope", "read", "", undefined],
  ["Networks", "", "203.0.113.0/24", "203.0.113.0/24"],
  ["Networks", "203.0.113.0/24", "", undefined],
  ["Networks", "203.0.113.0/25", "203.0.113.0/24", undefined],
  [
    "Networks",
    "203.0.0.0/16 2001:db8::/32",
    "203.0.113.0/24 2001:db8:1::/48 10.0.0.0/8",
    "203.0.113.0/24 2001:db8:1::/48",
  ],
  ["Networks", "203.0.113.0/24", "10.0.0.0/8", "10.0.0.0/8"],
  ["Networks", "0.0.0.0/0", "2001:db8::/32", "2001:db8::/32"],
])("a restored key's %s %j under the limit %j: %j", (field, value, limit, left) => {
  const record = { Digest: "0", Revoked: "", Expires: "", Rate: "", Scope: "write", Networks: "", [field]: value };
  expect(narrowedValues(keyResource, record, [{ [field]: limit }])?.[field]).toBe(left as string);
});
