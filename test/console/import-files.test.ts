// The files of imports that are removed without a request that would report it.

import { expect, test } from "bun:test";
import { Imports } from "../../src/admin/imports.ts";
import { brand } from "../../src/resources/brand.ts";

test("files of a left import that cannot be removed are reported, and the next import begins all the same", async () => {
  const failures: unknown[] = [];
  const imports = new Imports(Date.now, (error) => failures.push(error));
  const begin = () => imports.openImport(1, 1, brand, "brands.csv");
  const [first] = [begin(), begin(), begin(), begin()];
  const { job } = first as ReturnType<typeof begin>;
  const remove = job.remove.bind(job);
  // As the file system fails. A rejection that is not handled ends the process.
  job.remove = async () => {
    await remove();
    throw new Error("EIO: i/o error, rm");
  };
  expect(begin().name).toBe("brands.csv");
  await Bun.sleep(0);
  await imports.stop();
  expect(failures.map(String)).toEqual(["Error: EIO: i/o error, rm"]);
});
