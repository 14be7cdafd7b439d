// Stories of commands. Each command must have taken effect completely or not at all, and what it reported must be durable.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { backUp, restore } from "../../../src/operator/backup/backup.ts";
import { exportSite } from "../../../src/operator/site-files/export-site.ts";
import { getSite } from "../../../src/operator/sites/sites.ts";
import { Expected } from "./expected.ts";
import type { CommandResult, Lab } from "./lab.ts";
import {
  addBrands,
  csvOf,
  filesIn,
  type LeftFiles,
  namesOf,
  noSite,
  pathIn,
  prepareSite,
  readNames,
  readNamesInExport,
  readNamesInFile,
  type Story,
} from "./story.ts";

/** The site's brands before the story. */
const oldNames = namesOf("old", 40);

/** Adds a command after which the state is `after`. */
function addCommand(expected: Expected, { sent, at }: CommandResult, after: readonly string[]): void {
  expected.add({ sent, acknowledged: at, change: () => after });
}

const prepareOld = async (lab: Lab) => void (await prepareSite(lab, oldNames));

const importAtomic: Story = {
  name: "import --atomic",
  database: "shop.db",
  prepare: prepareOld,
  async run(lab) {
    const added = namesOf("added", 1200);
    const file = join(lab.folder, "..", "added.csv");
    writeFileSync(file, csvOf(added));
    const records = new Expected("the records", oldNames);
    addCommand(records, await lab.succeed("import", "--site", "main", "--atomic", "brands", file), [
      ...oldNames,
      ...added,
    ]);
    return async ({ engine, position }) => records.check(await readNames(engine), position);
  },
};

const backupNames = namesOf("then", 20);

/** The data that a restore replaces is in a complete file, or the next restore saves it. */
const restoreStory: Story = {
  name: "restore",
  database: "shop.db",
  async prepare(lab) {
    await prepareSite(lab, backupNames);
    await lab.open(async (engine) => {
      await backUp(engine, join(lab.folder, "then.backup"), Date.now());
      await addBrands(engine, (await getSite(engine, "main")).ID, oldNames);
    });
  },
  async run(lab) {
    const present = [...backupNames, ...oldNames];
    const records = new Expected("the records", present);
    const restored = await lab.succeed("restore", join(lab.folder, "then.backup"));
    addCommand(records, restored, backupNames);
    return async (left) => {
      const names = await readNames(left.engine);
      const isKept = names.includes("old 1") || (await hasKept(left, present.length));
      if (!isKept && left.position < restored.at)
        await restore(left.engine, pathIn(left, "then.backup"), pathIn(left, "again.before-1.1Z"), Date.now());
      const isLost = !isKept && !(await hasKept(left, present.length));
      return [...records.check(names, left.position), ...(isLost ? ["the replaced data is gone"] : [])];
    };
  },
};

/** Whether a file with replaced data has this many brands. @throws ProblemError if such a file is incomplete */
async function hasKept(left: LeftFiles, count: number): Promise<boolean> {
  const names = filesIn(left.folder, /\.before-[^.]*\.\d+Z(-\d)?$/);
  const kept = await Promise.all(names.map((name) => readNamesInFile("storefront", pathIn(left, name))));
  return kept.some((found) => found.length === count);
}

const importSite: Story = {
  name: "import-site",
  database: "shop.db",
  async prepare(lab) {
    await prepareOld(lab);
    await lab.open((engine) => exportSite(engine, "main", join(lab.folder, "main.site"), Date.now()));
  },
  async run(lab) {
    const copy = new Expected("the imported site", noSite);
    addCommand(copy, await lab.succeed("import-site", join(lab.folder, "main.site"), "--name", "copy"), oldNames);
    return async (left) => [...copy.check(await readNames(left.engine, "copy"), left.position), ...(await keeps(left))];
  },
};

/** Checks that the site `main` hasn't changed. */
async function keeps({ engine, position }: LeftFiles): Promise<string[]> {
  return new Expected("the site main", oldNames).check(await readNames(engine), position);
}

const sandbox: Story = {
  name: "site sandbox",
  database: "shop.db",
  prepare: prepareOld,
  async run(lab) {
    const added = [...oldNames, "new 1"];
    const copy = new Expected("the sandbox", noSite);
    const live = new Expected("the site main", oldNames);
    addCommand(copy, await lab.succeed("site", "sandbox", "main"), oldNames);
    const file = join(lab.folder, "..", "new.csv");
    writeFileSync(file, csvOf(["new 1"]));
    addCommand(live, await lab.succeed("import", "--site", "main", "brands", file), added);
    addCommand(copy, await lab.succeed("site", "sandbox", "main"), added);
    return async ({ engine, position }) => [
      ...copy.check(await readNames(engine, "main-sandbox"), position),
      ...live.check(await readNames(engine), position),
    ];
  },
};

/** A file that a command writes is complete or missing, and is replaced as a whole. `--keep 1` always leaves a backup. */
const files: Story = {
  name: "backup and export",
  database: "shop.db",
  prepare: prepareOld,
  async run(lab) {
    const backup = new Expected("the backup");
    const site = new Expected("the file of export-site");
    const records = new Expected("the file of export");
    const keep = new Expected("the number of backups in the folder", ["0"]);
    const path = (name: string) => join(lab.folder, name);
    const writeAll = async (names: readonly string[]) => {
      addCommand(backup, await lab.succeed("backup", path("shop.backup")), names);
      addCommand(site, await lab.succeed("export-site", "main", path("main.site")), names);
      addCommand(records, await lab.succeed("export", "brands", path("brands.json"), "--site", "main"), names);
    };
    await writeAll(oldNames);
    const first = await lab.succeed("backup", lab.folder, "--keep", "1");
    addCommand(keep, first, ["1"]);
    await Bun.sleep(1000 - (Date.now() % 1000));
    await lab.succeed("backup", lab.folder, "--keep", "1");
    const file = join(lab.folder, "..", "new.csv");
    writeFileSync(file, csvOf(["new 1"]));
    await lab.succeed("import", "--site", "main", "brands", file);
    await writeAll([...oldNames, "new 1"]);
    return async (left) => [
      ...backup.check(await readNamesInFile("storefront", pathIn(left, "shop.backup")), left.position),
      ...site.check(await readNamesInFile("storefront-site", pathIn(left, "main.site")), left.position),
      ...records.check(readNamesInExport(pathIn(left, "brands.json")), left.position),
      ...keep.check([await hasBackup(left)], left.position),
    ];
  },
};

/** Returns whether the folder has a backup, as `1` or `0`. @throws ProblemError if a backup is incomplete */
async function hasBackup(left: LeftFiles): Promise<string> {
  const names = filesIn(left.folder, /^storefront-.*\.backup$/);
  for (const name of names) await readNamesInFile("storefront", pathIn(left, name));
  return names.length > 0 ? "1" : "0";
}

export const commandStories: readonly (() => Story)[] = [importAtomic, restoreStory, importSite, sandbox, files].map(
  (story) => () => story,
);
