// Lists every action of the console's API.

import type { Action } from "../action-routes.ts";
import type { Imports } from "../imports.ts";
import type { TrafficHistory } from "../traffic.ts";
import { historyActions } from "./history.ts";
import { exportActions, importActions } from "./imports.ts";
import { keyActions } from "./keys.ts";
import { operatorActions } from "./operators.ts";
import { findActions, recordActions, resourceActions } from "./records.ts";
import { overviewActions, siteActions } from "./sites.ts";
import { webhookActions } from "./webhooks.ts";

export function allActions(traffic: TrafficHistory, imports: Imports): readonly Action[] {
  return [
    ...resourceActions,
    ...siteActions,
    ...exportActions,
    ...recordActions,
    ...importActions(imports),
    ...keyActions,
    ...historyActions(imports),
    ...webhookActions,
    ...operatorActions(imports),
    ...findActions,
    ...overviewActions(traffic),
  ];
}
