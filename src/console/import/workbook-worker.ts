// The worker that reads workbooks, a separate script (/console-xlsx.js). The page only starts it for such a file, and ends it afterwards.

import { Workbook, type WorkbookRequest, type WorkbookResponse } from "./workbook.ts";
import { WorkbookError } from "./workbook-archive.ts";

let workbook: Workbook | undefined;

const reportIntervalMs = 100;

function respond(response: WorkbookResponse): void {
  // This file is type-checked as part of a page. In a worker, the function takes a single parameter.
  (postMessage as (message: unknown) => void)(response);
}

async function handle(request: WorkbookRequest): Promise<WorkbookResponse> {
  if (request.file) workbook = new Workbook(new Uint8Array(await request.file.arrayBuffer()));
  const sheets = workbook?.sheets ?? [];
  if (request.sheet === undefined) return { kind: "sheets", names: sheets.map(({ name }) => name) };
  const sheet = sheets[request.sheet];
  if (!workbook || !sheet) throw new WorkbookError("broken");
  let reportedAt = 0;
  const parts = workbook.toCsv(sheet, (share) => {
    if (Date.now() - reportedAt < reportIntervalMs) return;
    reportedAt = Date.now();
    respond({ kind: "progress", share });
  });
  return { kind: "csv", csv: new Blob(parts, { type: "text/csv" }) };
}

addEventListener("message", ({ data }: MessageEvent<WorkbookRequest>) => {
  handle(data).then(respond, (error) => {
    respond({ kind: "fault", fault: error instanceof WorkbookError ? error.fault : "broken" });
  });
});
