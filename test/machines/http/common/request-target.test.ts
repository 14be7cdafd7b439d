// The parts of any request target.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { toTarget } from "../../../../src/http/common/request-target.ts";

describe("a target", () => {
  test.each<[string, string, string, string | undefined]>([
    ["/", "/", "", undefined],
    ["/a/b.json", "/a/b.json", "", undefined],
    ["/a?", "/a", "", undefined],
    ["/a?b=c&d", "/a", "b=c&d", undefined],
    ["/a?b?c", "/a", "b?c", undefined],
    ["/a?x=/../y", "/a", "x=/../y", undefined],
    ["/a?/..", "/a", "/..", undefined],
    ["/.a/..b/c./...", "/.a/..b/c./...", "", undefined],
    ["/a%2f..%2fb", "/a%2f..%2fb", "", undefined],
    ["/%zz", "/%zz", "", undefined],
    ["/\xc3\xa9?\xc3\xa9", "/%C3%A9", "%C3%A9", undefined],
    ["/\xe9?\xe9", "/%E9", "%E9", undefined],
    ["//a/b", "//a/b", "", undefined],
    ["///a", "///a", "", undefined],
    ["/a//b", "/a//b", "", undefined],
    ["/a?b\\c", "/a", "b\\c", undefined],
    ["/a;b=c", "/a;b=c", "", undefined],
    ["http://y", "/", "", "y"],
    ["http://y?b", "/", "b", "y"],
    ["HTTPS://Y:81/a?b", "/a", "b", "Y:81"],
    ["http://%79/a", "/a", "", "%79"],
    ["http://\xef\xbd\x99/a", "/a", "", "\xef\xbd\x99"],
    ["http://[::1]:80/a", "/a", "", "[::1]:80"],
  ])("%s is split", (sent, path, query, host) => {
    expect(toTarget(sent)).toEqual(host === undefined ? { path, query } : { path, query, host });
  });

  test.each([
    ["/a/../b", "a dot segment"],
    ["/a/./b", "a dot segment for the same place"],
    ["/../../b", "dot segments beyond the root"],
    ["/a/..", "a dot segment at the end"],
    ["/a/.?b", "a dot segment before a query"],
    ["/a/%2e%2E/b", "encoded dots"],
    ["/a/.%2e/b", "one encoded dot"],
    ["http://y/a/../b", "a dot segment of an absolute target"],
    ["http://y/%2e", "an encoded dot of an absolute target"],
    ["a", "no slash before it"],
    ["*", "an asterisk"],
    ["?a", "a query alone"],
    ["y:443", "an authority"],
    ["ftp://y/a", "another scheme"],
    ["http:/a", "a scheme without an authority"],
    ["http://", "an empty authority"],
    ["http:///a", "an empty authority and a path"],
    ["http://user@y/a", "a user"],
    ["http://y:99999/a", "a port that is none"],
    ["http://a b/", "a blank"],
    ["http://y\\@z/a", "a backslash in an authority"],
    ["/a\\b", "a backslash"],
    ["/a\\..\\b", "backslashes and dots"],
    ["/a#b", "a fragment"],
    ["/a?b#c", "a fragment behind a query"],
    ["http://y/a#b", "a fragment of an absolute target"],
    ["http://y#/a", "a fragment in an authority"],
  ])("%s, with %s, is a path that doesn't exist", (sent) => {
    expect(toTarget(sent)).toEqual({ path: sent, query: "" });
  });

  test("any bytes: a path and a query, never another's in disguise", () => {
    const byte = fc.oneof(fc.integer({ min: 0x21, max: 0xff }), fc.constantFrom(...Buffer.from("/.%2e?#\\@:[]")));
    const sent = fc
      .tuple(fc.constantFrom("", "/", "//", "http://", "http://y/"), fc.array(byte, { maxLength: 30 }))
      .map(([start, bytes]) => start + String.fromCharCode(...bytes.filter((code) => code !== 0x7f)));
    const property = fc.property(sent, (target) => {
      const { path, query, host } = toTarget(target);
      if (/^[^?]*\\|#|^[^?]*\/(?:\.|%2e){1,2}(?:[/?]|$)/i.test(target))
        expect({ path, query }).toEqual({ path: Buffer.from(target, "latin1").toString(), query: "" });
      else if (host === undefined && path.startsWith("/")) {
        expect(target).toStartWith("/");
        expect(path).not.toMatch(/[?#\\\s]|\/\.{1,2}(\/|$)/);
        expect(query).not.toMatch(/[#\s<>]|[^ -~]/);
        expect(toTarget(query === "" ? path : `${path}?${query}`)).toEqual({ path, query });
      }
    });
    fc.assert(property, { numRuns: 3000 });
  });
});
