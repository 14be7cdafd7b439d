// A list of history entries, for a site, a record or one run. Entries expand to show their changes, and to undo them. Two states of a record can be
// compared.

import {
  Accordion,
  AccordionDetails,
  AccordionSummary,
  Box,
  Button,
  Checkbox,
  Stack,
  Typography,
  useTheme,
} from "@mui/material";
import { Fragment, type ReactNode, useState } from "react";
import type { HistoryEntryInfo } from "../../admin/api/record-types.ts";
import { ExpandIcon } from "../shell/icons.tsx";
import { Initial } from "../shell/initial.tsx";
import { notify } from "../shell/notices.tsx";
import { LoadingLines, ReadFailed } from "../shell/query-result.tsx";
import { Link } from "../shell/router.tsx";
import { useCan, useSiteName } from "../shell/site-context.ts";
import { toNumber } from "../text/locale.ts";
import { serverNow } from "../text/server-time.ts";
import { toDayHeading, toDayText, toExactMoment, toHour, When } from "../text/times.tsx";
import { translate } from "../text/translate.ts";
import { CompareBar } from "./compare.tsx";
import { ChangedFields, nameOfActor, useSummary } from "./description.tsx";
import { NoEntries } from "./filters.tsx";
import { type HistoryFilter, useHistory, useRestore } from "./history.ts";
import { UndoDialog } from "./undo-dialog.tsx";

interface HistoryListProps {
  readonly filter: HistoryFilter;
  /** Whether this is the history of one record, whose earlier states can be restored and compared. */
  readonly isOfRecord?: boolean;
  /** Maximum entries to show. By default, all are shown, page by page. */
  readonly max?: number;
  /** Whether each day has a heading. If so, entries only show the time. */
  readonly hasDays?: boolean;
  /** Clears the filters, if any are set. */
  readonly clear?: (() => void) | undefined;
}

export function HistoryList({
  filter,
  isOfRecord = false,
  max = Number.POSITIVE_INFINITY,
  hasDays = false,
  clear,
}: HistoryListProps) {
  const { entries, hasNextPage, isCut, isSearching, more, isFetching, isSuccess, error, refetch } = useHistory(
    filter,
    max,
  );
  const [chosen, setChosen] = useState<HistoryEntryInfo>();
  const [ticked, setTicked] = useState<readonly HistoryEntryInfo[]>([]);
  if (!isSuccess && !error) return <LoadingLines />;
  if (error) return <ReadFailed error={error} onRetry={refetch} />;
  const shown = entries.slice(0, max);
  const tick = (entry: HistoryEntryInfo, isTicked: boolean) =>
    // Selecting a third one deselects the first.
    setTicked([...ticked.filter(({ last }) => last !== entry.last), ...(isTicked ? [entry] : [])].slice(-2));
  return (
    <>
      {isOfRecord && shown.length > 1 && <CompareBar states={ticked} onClose={() => setTicked([])} />}
      {isSuccess && entries.length === 0 && !hasNextPage && <NoEntries none="history.none" clear={clear} />}
      <EntryRows hasDays={hasDays} entries={shown} keyOf={({ last }) => last}>
        {(entry) => (
          <Entry
            entry={entry}
            isOfRecord={isOfRecord}
            hasDays={hasDays}
            isCut={isCut && entry === entries.at(-1) && entry.run !== null}
            onUndo={() => setChosen(entry)}
            isTicked={ticked.some(({ last }) => last === entry.last)}
            onTick={isOfRecord && shown.length > 1 ? (isTicked) => tick(entry, isTicked) : undefined}
          />
        )}
      </EntryRows>
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

interface EntryRowsProps<Listed> {
  readonly entries: readonly Listed[];
  readonly keyOf: (entry: Listed) => number;
  readonly hasDays?: boolean;
  readonly children: (entry: Listed) => ReactNode;
}

/** Entries, newest first, each day's below a heading. */
export function EntryRows<Listed extends { readonly at: string }>(props: EntryRowsProps<Listed>) {
  const { entries, keyOf, hasDays = true, children } = props;
  const dayOf = (entry: Listed | undefined) => entry && toDayText(new Date(entry.at));
  return entries.map((entry, index) => (
    <Fragment key={keyOf(entry)}>
      {hasDays && dayOf(entry) !== dayOf(entries[index - 1]) && <DayHeading day={dayOf(entry) ?? ""} />}
      {children(entry)}
    </Fragment>
  ));
}

function DayHeading({ day }: { readonly day: string }) {
  return (
    <Typography
      component="h2"
      variant="body2"
      sx={{
        px: 2,
        py: 0.75,
        fontWeight: 600,
        color: "text.secondary",
        bgcolor: "action.hover",
        borderBottom: 1,
        borderColor: "divider",
      }}
    >
      {toDayHeading(day, serverNow())}
    </Typography>
  );
}

interface EntryProps {
  readonly entry: HistoryEntryInfo;
  readonly isOfRecord: boolean;
  readonly hasDays: boolean;
  /** Whether the entry may have more changes that haven't been read yet. */
  readonly isCut: boolean;
  readonly onUndo: () => void;
  readonly isTicked: boolean;
  /** Selects the entry for a comparison; undefined if it can't be compared. */
  readonly onTick: ((isTicked: boolean) => void) | undefined;
}

function Entry({ entry, isOfRecord, hasDays, isCut, onUndo, isTicked, onTick }: EntryProps) {
  const summary = useSummary(entry);
  const isSingle = entry.first === entry.last;
  const canChange = useCan("records");
  const tick = onTick && (
    <Checkbox
      size="small"
      checked={isTicked}
      onChange={({ target }) => onTick(target.checked)}
      slotProps={{
        input: { "aria-label": translate("history.tick", { summary, time: toExactMoment(entry.at) }) },
      }}
      sx={{ ml: 0.5, mt: 0.25 }}
    />
  );
  return (
    <EntryRow entry={entry} summary={summary} hasDays={hasDays} tick={tick}>
      {isSingle && <ChangedFields before={entry.change.before} after={entry.change.after} />}
      {entry.others > 0 && (
        <Typography variant="body2" color="textSecondary" sx={{ mb: 1 }}>
          {translate("history.others", { smart_count: entry.others, count: toNumber(entry.others) })}
        </Typography>
      )}
      <Stack direction="row" useFlexGap spacing={1} sx={{ my: 1, flexWrap: "wrap" }}>
        {canChange && (
          <Button size="small" variant="outlined" onClick={onUndo} disabled={isCut}>
            {translate("general.undo")}
          </Button>
        )}
        {canChange && isOfRecord && entry.change.after && <RestoreButton entry={entry} />}
        {isSingle && !isOfRecord && <RecordLinks entry={entry} />}
      </Stack>
      {/* Below the buttons, because a batch or import can have thousands of changes. */}
      {!isSingle && <HistoryList filter={{ within: { first: entry.first, last: entry.last, run: entry.run } }} />}
    </EntryRow>
  );
}

interface EntryRowProps {
  readonly entry: Pick<HistoryEntryInfo, "at" | "actor" | "actorLabel">;
  readonly summary: string;
  readonly hasDays?: boolean;
  /** Selects the entry. */
  readonly tick?: ReactNode;
  /** The details, which are shown once the entry is expanded. */
  readonly children: ReactNode;
}

/** What happened, who did it and when. Expands to show details. */
export function EntryRow({ entry, summary, hasDays = true, tick, children }: EntryRowProps) {
  const { typography } = useTheme();
  const time = hasDays ? <HourAt at={entry.at} /> : <When at={entry.at} />;
  return (
    <Box sx={{ display: "flex", alignItems: "flex-start", borderBottom: 1, borderColor: "divider" }}>
      {tick}
      <Accordion
        disableGutters
        elevation={0}
        square
        sx={{ flexGrow: 1, minWidth: 0, bgcolor: "transparent", "&::before": { display: "none" } }}
        slotProps={{ transition: { unmountOnExit: true }, heading: { component: "h3" } }}
      >
        <AccordionSummary
          expandIcon={<ExpandIcon />}
          sx={{ minHeight: 40, "& .MuiAccordionSummary-content": { my: 0.75 } }}
        >
          <Stack
            direction={{ xs: "column", sm: "row" }}
            useFlexGap
            spacing={{ xs: 0.25, sm: 2 }}
            sx={{
              width: "100%",
              pr: 1,
              pl: 4.5,
              position: "relative",
              alignItems: { sm: "baseline" },
              typography: "body2",
            }}
          >
            <Box sx={{ position: "absolute", left: 0, top: 0 }}>
              <Initial name={nameOfActor(entry)} isPerson />
            </Box>
            <Box sx={{ flexGrow: 1, overflowWrap: "anywhere", fontSize: typography.body1.fontSize }}>{summary}</Box>
            <Box sx={{ color: "text.secondary", overflowWrap: "anywhere", flexShrink: 0, maxWidth: "100%" }}>
              {nameOfActor(entry)} · {time}
            </Box>
          </Stack>
        </AccordionSummary>
        <AccordionDetails sx={{ pt: 0 }}>{children}</AccordionDetails>
      </Accordion>
    </Box>
  );
}

function HourAt({ at }: { readonly at: string }) {
  return (
    <Box component="time" dateTime={at} title={toExactMoment(at)} sx={{ fontVariantNumeric: "tabular-nums" }}>
      {toHour(Date.parse(at))}
    </Box>
  );
}

function RecordLinks({ entry: { change } }: Pick<EntryProps, "entry">) {
  const siteName = useSiteName();
  const { resource, id, after } = change;
  return (
    <>
      {after && (
        <Button size="small" component={Link} to={`/${siteName}/${resource}/${id}`}>
          {translate("history.open_record")}
        </Button>
      )}
      <Button size="small" component={Link} to={`/${siteName}/history?resource=${resource}&id=${id}`}>
        {translate("history.of_record")}
      </Button>
    </>
  );
}

function RestoreButton({ entry }: Pick<EntryProps, "entry">) {
  const restore = useRestore();
  const { resource, id } = entry.change;
  const run = () => restore(resource, id, entry.last).catch((error: Error) => notify(error.message, "error"));
  return (
    <Button size="small" onClick={run}>
      {translate("history.restore")}
    </Button>
  );
}
