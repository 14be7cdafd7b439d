// A server's pages, for tests of every page.

import { guide, manual, others, problems } from "../../../src/reference/pages/guide.ts";

export const pagePaths: readonly string[] = [
  "/",
  "/docs",
  "/docs/problems",
  ...Object.keys({ ...guide, ...manual, ...others }).map((name) => `/docs/${name}`),
  ...Object.keys(problems).map((code) => `/docs/problems/${code}`),
];
