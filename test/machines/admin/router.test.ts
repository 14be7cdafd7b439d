// Which of the admin listener's routes a path leads to.

import { expect, test } from "bun:test";
import { Router } from "../../../src/admin/router.ts";

const patterns = [
  "/sites/{site}/records/{resource}/{id}",
  "/sites/{site}/records/{resource}/export",
  "/sites/own/{list}/a/b",
];

for (const [order, listed] of [
  ["as listed", patterns],
  ["in reverse", [...patterns].reverse()],
] as const) {
  const router = new Router(new Map(listed.map((pattern) => [pattern, pattern])));

  test.each([
    ["/sites/shop/records/brands/export", patterns[1], { site: "shop", resource: "brands" }],
    ["/sites/shop/records/brands/12", patterns[0], { site: "shop", resource: "brands", id: "12" }],
    ["/sites/own/records/a/b", patterns[2], { list: "records" }],
  ])(`with routes ${order}, %s leads to the pattern with a fixed text at the first segment in which two patterns differ`, (path, route, parameters) => {
    expect(router.find(path)).toEqual({ route: route as string, parameters });
  });
}
