// Starts a server whose brands fail in XML. The argument is the address of a database with a site and a key.

import { readConfig } from "../../../src/config.ts";
import { start } from "../../../src/start.ts";
import { createBrokenResource, fail } from "./broken-resource.ts";

const broken = createBrokenResource();
const settings = { DATABASE: process.argv[2] as string, PORT: "0", LOG: "error" };
const { url } = await start(readConfig(settings), { resources: broken.resources });
broken.whenUsed = fail;
console.log(url);
