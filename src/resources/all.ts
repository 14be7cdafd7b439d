import type { Resource } from "../model/resource.ts";
import { brand } from "./brand.ts";
import { event } from "./event.ts";
import { key } from "./key.ts";
import { location } from "./location.ts";
import { operator } from "./operator.ts";
import { orderStatus } from "./order-status.ts";
import { site } from "./site.ts";
import { webhook } from "./webhook.ts";

/** All resources. To add one, add a file to this folder and a line here. */
export const allResources: readonly Resource[] = [brand, orderStatus, location, site, key, webhook, operator, event];
