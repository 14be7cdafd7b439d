// Lists every action of the console's API.

import type { Action } from "../action-routes.ts";
import type { OpenImports } from "../open-imports.ts";
import type { TrafficHistory } from "../traffic.ts";
import { auditLogActions } from "./audit-log.ts";
import { historyActions } from "./history.ts";
import { importActions } from "./imports.ts";
import { keyActions } from "./keys.ts";
import { operatorActions } from "./operators.ts";
import { overviewActions } from "./overview.ts";
import { recordActions } from "./records.ts";
import { requestActions } from "./requests.ts";
import { severalRecordActions } from "./several-records.ts";
import { siteActions } from "./sites.ts";
import { webhookActions } from "./webhooks.ts";

/** @param stopping aborted when the admin listener stops */
export function allActions(traffic: TrafficHistory, imports: OpenImports, stopping: AbortSignal): readonly Action[] {
  return [
    ...siteActions(stopping),
    ...recordActions,
    ...severalRecordActions,
    ...importActions(imports),
    ...keyActions,
    ...historyActions(imports),
    ...requestActions,
    ...webhookActions,
    ...operatorActions(imports),
    ...auditLogActions,
    ...overviewActions(traffic),
  ];
}
