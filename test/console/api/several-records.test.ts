// Changes of several records in one request of the console.

import { test } from "bun:test";
import type {
  ChangesBody,
  ChangesResponse,
  ConflictInfo,
  LastChangeInfo,
  RecordFaultInfo,
  SetFieldBody,
  SetFieldResponse,
  StagedChange,
  WriteProblem,
} from "../../../src/admin/api/record-types.ts";

export type Bodies = ChangesBody | SetFieldBody | StagedChange;
export type Responses =
  | ChangesResponse
  | SetFieldResponse
  | WriteProblem
  | RecordFaultInfo
  | ConflictInfo
  | LastChangeInfo;

test.todo("several records are changed together");
