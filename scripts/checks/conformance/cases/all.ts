// All cases, in the order of the contract.

import type { Case } from "../case.ts";
import { agentCases } from "./agents.ts";
import { batchCases } from "./batches.ts";
import { errorCases } from "./errors.ts";
import { feedCases } from "./feed.ts";
import { keyCases } from "./keys.ts";
import { limitCases } from "./limits.ts";
import { listCases } from "./lists.ts";
import { namingCases } from "./naming.ts";
import { operationCases } from "./operations.ts";
import { pageCases } from "./pages.ts";
import { recordCases } from "./records.ts";
import { safeWriteCases } from "./safe-writes.ts";
import { webhookCases } from "./webhooks.ts";
import { xmlCases } from "./xml.ts";

export const allCases: readonly Case[] = [
  ...[keyCases, namingCases, operationCases, recordCases, xmlCases, listCases, safeWriteCases],
  ...[errorCases, limitCases, feedCases, pageCases, webhookCases, batchCases, agentCases],
].flat();
