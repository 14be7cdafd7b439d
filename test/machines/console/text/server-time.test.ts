// The server's time, which the console uses to say how long ago something was.

import { afterEach, beforeEach, expect, setSystemTime, test } from "bun:test";
import { compareClocks, serverNow } from "../../../../src/console/text/server-time.ts";

const browserTime = Date.parse("2026-03-01T12:00:00Z");

beforeEach(() => {
  setSystemTime(browserTime);
});
afterEach(() => {
  compareClocks(new Date().toUTCString());
  setSystemTime();
});

test.each([
  ["equals that of the browser at first", undefined, 0],
  ["is that of a response from the past", "Fri, 27 Feb 2026 12:00:00 GMT", -2 * 86_400],
  ["is that of a response from the future", "Sun, 01 Mar 2026 12:00:06 GMT", 6],
  ["equals that of the browser if they differ by 5 seconds", "Sun, 01 Mar 2026 12:00:05 GMT", 0],
  ["equals that of the browser if it is 5 seconds behind", "Sun, 01 Mar 2026 11:59:55 GMT", 0],
])("the time %s", (_, date, seconds) => {
  if (date) compareClocks(date);
  expect((serverNow() - browserTime) / 1000).toBe(seconds);
});

test("server time: the latest response with one counts", () => {
  compareClocks("Sun, 01 Mar 2026 13:00:00 GMT");
  compareClocks(null);
  compareClocks("soon");
  expect(serverNow() - browserTime).toBe(3_600_000);
  compareClocks("Sun, 01 Mar 2026 12:00:01 GMT");
  expect(serverNow()).toBe(browserTime);
});
