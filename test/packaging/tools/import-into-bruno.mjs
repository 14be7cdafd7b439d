// Imports a Postman collection into a folder, as the application Bruno does: with its converter, and with the files that its command line writes.

import { mkdirSync } from "node:fs";
import { json } from "node:stream/consumers";
import { createCollectionFromBrunoObject } from "@usebruno/cli/src/utils/collection.js";
import { postmanToBruno } from "@usebruno/converters";

const [folder, format] = process.argv.slice(2);
const { collection } = await postmanToBruno(await json(process.stdin));
mkdirSync(folder);
await createCollectionFromBrunoObject(collection, folder, { format });
