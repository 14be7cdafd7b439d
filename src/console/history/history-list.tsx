// A list of entries of the history: of a site, of a record, or of one run. An entry opens to show its changes, and to undo them.

import ExpandIcon from "@mui/icons-material/ExpandMore";
import { Accordion, AccordionDetails, AccordionSummary, Button, Stack, Typography } from "@mui/material";
import { useState } from "react";
import type { HistoryEntryInfo } from "../../admin/api/record-types.ts";
import { useNotify } from "../shell/notices.tsx";
import { LoadingLines, ReadFailed } from "../shell/query-result.tsx";
import { translate } from "../text/translate.ts";
import { When } from "../text/when.tsx";
import { ChangedFields } from "./changed-fields.tsx";
import { type HistoryFilter, useHistory, useRestore } from "./history.ts";
import { useActorName, useSummary } from "./summary.ts";
import { UndoDialog } from "./undo-dialog.tsx";

interface HistoryListProps {
  readonly filter: HistoryFilter;
  /** Whether the list shows the history of one record. If so, it offers to restore earlier states. */
  readonly isOfRecord?: boolean;
  /** Maximum number of entries to show; the default is all, page by page. */
  readonly max?: number;
}

/** Lists entries of the history, the latest first. */
export function HistoryList({ filter, isOfRecord = false, max = Number.POSITIVE_INFINITY }: HistoryListProps) {
  const notify = useNotify();
  const { entries, hasNextPage, isCut, isSearching, more, isFetching, isSuccess, error, refetch } = useHistory(
    filter,
    max,
  );
  const [chosen, setChosen] = useState<HistoryEntryInfo>();
  if (!isSuccess && !error) return <LoadingLines />;
  if (error) return <ReadFailed error={error} onRetry={refetch} />;
  return (
    <>
      {isSuccess && entries.length === 0 && !hasNextPage && (
        <Typography color="textSecondary" sx={{ p: 2 }}>
          {translate("history.none")}
        </Typography>
      )}
      {entries.slice(0, max).map((entry) => (
        <Entry
          key={entry.last}
          entry={entry}
          isOfRecord={isOfRecord}
          isCut={isCut && entry === entries.at(-1) && entry.run !== null}
          onUndo={() => setChosen(entry)}
        />
      ))}
      {isSearching && <LoadingLines />}
      {hasNextPage && !isSearching && max === Number.POSITIVE_INFINITY && (
        <Button onClick={more} disabled={isFetching} sx={{ m: 1 }}>
          {translate("history.more")}
        </Button>
      )}
      {chosen && (
        <UndoDialog
          entry={chosen}
          onClose={() => setChosen(undefined)}
          onDone={({ deleted, restored }) => notify(translate("history.undone", { smart_count: deleted + restored }))}
        />
      )}
    </>
  );
}

interface EntryProps {
  readonly entry: HistoryEntryInfo;
  readonly isOfRecord: boolean;
  /** Whether the entry may have more changes that were not read yet. */
  readonly isCut: boolean;
  readonly onUndo: () => void;
}

function Entry({ entry, isOfRecord, isCut, onUndo }: EntryProps) {
  const summary = useSummary(entry);
  const nameOfActor = useActorName();
  const isSingle = entry.first === entry.last;
  return (
    <Accordion
      disableGutters
      elevation={0}
      sx={{ "&:not(:last-child)": { borderBottom: 1, borderColor: "divider" }, "&::before": { display: "none" } }}
      slotProps={{ transition: { unmountOnExit: true }, heading: { component: "h2" } }}
    >
      <AccordionSummary expandIcon={<ExpandIcon />}>
        <Stack
          direction={{ xs: "column", sm: "row" }}
          spacing={{ xs: 0.25, sm: 2 }}
          sx={{ width: "100%", pr: 1, alignItems: { sm: "center" } }}
        >
          <Typography sx={{ flexGrow: 1, overflowWrap: "anywhere" }}>{summary}</Typography>
          <Typography
            variant="body2"
            color="textSecondary"
            sx={{ overflowWrap: "anywhere", flexShrink: 0, maxWidth: "100%" }}
          >
            {nameOfActor(entry.actor)} · <When at={entry.at} />
          </Typography>
        </Stack>
      </AccordionSummary>
      <AccordionDetails>
        {isSingle && <ChangedFields before={entry.change.before} after={entry.change.after} />}
        <Stack direction="row" spacing={1} sx={{ my: 1 }}>
          <Button size="small" variant="outlined" onClick={onUndo} disabled={isCut}>
            {translate("general.undo")}
          </Button>
          {isOfRecord && entry.change.after && <RestoreButton entry={entry} />}
        </Stack>
        {/* Below the buttons, because a batch request or an import can have thousands of changes. */}
        {!isSingle && <HistoryList filter={{ within: { first: entry.first, last: entry.last, run: entry.run } }} />}
      </AccordionDetails>
    </Accordion>
  );
}

function RestoreButton({ entry }: { readonly entry: HistoryEntryInfo }) {
  const notify = useNotify();
  const restore = useRestore();
  const { resource, id } = entry.change;
  const run = () =>
    restore(resource, id, entry.last).then(
      () => notify(translate("history.restored")),
      (error) => notify(error.message, "error"),
    );
  return (
    <Button size="small" onClick={run}>
      {translate("history.restore")}
    </Button>
  );
}
