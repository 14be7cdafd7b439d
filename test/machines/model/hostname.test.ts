// Hostnames that operators type, and requests' `Host` headers.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { hostnameOf, parseHostname } from "../../../src/model/hostname.ts";

describe("a hostname from an operator", () => {
  test.each([
    ["shop.example", "shop.example"],
    ["Shop.EXAMPLE", "shop.example"],
    ["shop.example.", "shop.example"],
    ["localhost", "localhost"],
    ["my_shop.example", "my_shop.example"],
    ["BÜCHER.example", "xn--bcher-kva.example"],
    ["faß.example", "xn--fa-hia.example"],
    ["日本語。example", "xn--wgv71a119e.example"],
    ["XN--BCHER-KVA.example", "xn--bcher-kva.example"],
    ["192.0.2.7", "192.0.2.7"],
    ["::1", "[::1]"],
    ["[::1]", "[::1]"],
    ["2001:DB8:0:0:0:0:0:1", "[2001:db8::1]"],
    [`${"a".repeat(63)}.example`, `${"a".repeat(63)}.example`],
    [`${"a.".repeat(126)}a`, `${"a.".repeat(126)}a`],
  ])("%s is stored as %s", (text, stored) => {
    expect(parseHostname(text)).toBe(stored);
  });

  test.each([
    ["", /it is empty/],
    [".", /a dot too many/],
    ["a..b", /a dot too many/],
    ["shop.example..", /a dot too many/],
    ["bad host!", /contains a space; give one hostname at a time/],
    ["bad!host", /it contains "!"/],
    ["a,b", /it contains ","/],
    ["me@shop.example", /it contains "@"/],
    ["a\u0000b", /it contains "\\u0000"/],
    ["https://Shop.example:8443/x", /it is a URL; give only the hostname, `shop\.example`/],
    ["shop.example/x", /it has a path; give only the hostname, `shop\.example`/],
    ["Shop.example:8080", /it has a port.*give only the hostname, `shop\.example`/],
    ["[::1]:8080", /it has a port.*give only the hostname, `\[::1\]`/],
    ["*.shop.example", /wildcards aren't supported/],
    ["::1::2", /it isn't an IPv6 address/],
    ["[::1", /it isn't an IPv6 address/],
    ["fe80::1%eth0", /an address with a zone/],
    ["256.1.1.1", /ends in a number but isn't an IPv4 address/],
    ["1.2.3", /ends in a number but isn't an IPv4 address/],
    ["shop.0x7f", /ends in a number but isn't an IPv4 address/],
    ["-a.example", /its part `-a` starts or ends with a hyphen/],
    ["a-.example", /its part `a-` starts or ends with a hyphen/],
    ["xn--a.example", /isn't a valid internationalized name/],
    ["\u202eshop.example", /isn't a valid internationalized name/],
    [`${"a".repeat(64)}.example`, /has 64 characters; at most 63/],
    [`${"a.".repeat(126)}aa`, /has 254 characters; at most 253/],
  ])("%j is rejected", (text, reason) => {
    expect(() => parseHostname(text)).toThrow(reason);
  });
});

describe("a request's host", () => {
  test.each([
    ["shop.example", "shop.example"],
    ["SHOP.example:8080", "shop.example"],
    ["shop.example.", "shop.example"],
    ["shop.example.:80", "shop.example"],
    ["192.0.2.7:80", "192.0.2.7"],
    ["[2001:DB8::0:1]:80", "[2001:db8::1]"],
    ["[::1]", "[::1]"],
    ["", ""],
    ["[X", "[x"],
    ["[X]", "[x]"],
    ["::1", "::1"],
    [":80", ":80"],
  ])("%j is %j", (sent, host) => {
    expect(hostnameOf(sent)).toBe(host);
  });

  test("matches the stored hostname in whatever form the operator typed it", () => {
    const label = fc.stringMatching(/^[A-Za-z0-9äöüßΩ日_]([A-Za-z0-9-]{0,20}[A-Za-z0-9ñ])?$/);
    const name = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join("."));
    fc.assert(
      fc.property(fc.oneof(name, fc.ipV4(), fc.ipV6(), fc.domain()), (text) => {
        let stored: string;
        try {
          stored = parseHostname(text);
        } catch {
          return;
        }
        expect(parseHostname(stored)).toBe(stored);
        for (const sent of [stored, stored.toUpperCase(), `${stored}:8080`]) expect(hostnameOf(sent)).toBe(stored);
      }),
    );
  });
});
