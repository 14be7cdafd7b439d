// The files of imports that the server removes by itself, so that no response can report a failure.

import { expect, test } from "bun:test";
import { OpenImports } from "../../../src/admin/open-imports.ts";
import { brand } from "../../../src/resources/brand.ts";
import { ticks } from "../../support/time.ts";

test("files of an abandoned import that cannot be removed are reported, and the next import starts", async () => {
  const failures: unknown[] = [];
  const imports = new OpenImports(Date.now, (error) => failures.push(error));
  const start = () => imports.openImport({ operator: 1, site: 1, systemEpoch: "a" }, brand, "brands.csv");
  const [first] = [start(), start(), start(), start()];
  const { job } = first as ReturnType<typeof start>;
  const remove = job.remove.bind(job);
  // Fails like the file system. An unhandled rejection would end the process.
  job.remove = async () => {
    await remove();
    throw new Error("EIO: i/o error, rm");
  };
  expect(start().name).toBe("brands.csv");
  await ticks();
  await imports.stop();
  expect(failures.map(String)).toEqual(["Error: EIO: i/o error, rm"]);
});
