// The overview and the form of a record, which both show changes, as one script.

export { OverviewPage } from "../overview/overview-page.tsx";
export { EditRecord, NewRecord } from "../records/record-form.tsx";
