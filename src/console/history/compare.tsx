// Compares two states of a record, field by field: two that are selected in its history, or one of them with the current record.

import {
  Alert,
  Box,
  Button,
  FormControlLabel,
  Stack,
  Switch,
  Table,
  TableBody,
  TableCell,
  TableHead,
  TableRow,
  Typography,
} from "@mui/material";
import { useState } from "react";
import type { HistoryEntryInfo, RecordValues } from "../../admin/api/record-types.ts";
import { DialogFrame } from "../shell/dialog-frame.tsx";
import { LoadingLines, ReadFailed } from "../shell/query-result.tsx";
import { useCan } from "../shell/site-context.ts";
import { useAttempt } from "../shell/site-data.ts";
import { useIsNarrow } from "../shell/theme.ts";
import { differences, fieldsOf, fullLabelOf } from "../text/fields.ts";
import { toExactMoment } from "../text/times.tsx";
import { showInvisible, translate } from "../text/translate.ts";
import { nameOfActor } from "./description.tsx";
import { useCurrentRecord, useRestore } from "./history.ts";

interface CompareBarProps {
  /** The selected entries, at most two. */
  readonly states: readonly HistoryEntryInfo[];
  /** Clears the selection. */
  readonly onClose: () => void;
}

export function CompareBar({ states, onClose }: CompareBarProps) {
  const [isOpen, setOpen] = useState(false);
  const step = (["none", "one", "two"] as const)[states.length] ?? "two";
  return (
    <Stack
      direction="row"
      useFlexGap
      spacing={1}
      sx={{ px: 2, minHeight: 48, alignItems: "center", flexWrap: "wrap", borderBottom: 1, borderColor: "divider" }}
    >
      <Typography variant="body2" color="textSecondary" sx={{ flexGrow: 1 }}>
        {translate(`history.compare_${step}`)}
      </Typography>
      {states.length > 0 && (
        <>
          <Button size="small" onClick={onClose}>
            {translate("history.untick")}
          </Button>
          <Button size="small" variant="contained" onClick={() => setOpen(true)}>
            {translate(states.length === 1 ? "history.compare_now" : "history.compare")}
          </Button>
        </>
      )}
      {isOpen && (
        <CompareDialog
          states={states}
          onClose={() => {
            setOpen(false);
            onClose();
          }}
        />
      )}
    </Stack>
  );
}

interface State {
  readonly title: string;
  readonly explain: string;
  readonly values: RecordValues | null;
  /** The revision to restore. Undefined if it's the current one, if the record didn't exist then, or if the operator can't change it. */
  readonly revision: number | undefined;
}

function CompareDialog({ states, onClose }: CompareBarProps) {
  const canChange = useCan("records");
  const [isShort, setShort] = useState(false);
  const { resource, id } = states[0]?.change ?? { resource: "", id: 0 };
  const { current, error, refetch } = useCurrentRecord(resource, id);
  const inOrder = [...states].sort((one, other) => one.last - other.last);
  const toState = (entry: HistoryEntryInfo): State => {
    const { at, change, last } = entry;
    const isCurrent = differences(change.after, current ?? null).length === 0;
    return {
      title: toExactMoment(at),
      explain: translate(isCurrent ? "history.state_present" : "history.state_by", { actor: nameOfActor(entry) }),
      values: change.after,
      revision: change.after && !isCurrent && canChange ? last : undefined,
    };
  };
  const now = { title: translate("history.now"), explain: "", values: current ?? null, revision: undefined };
  const [left, right] = [...inOrder.map(toState), now] as [State, State];
  const name = String((right.values ?? left.values)?.Name ?? id);
  const buttons = (
    <>
      <FormControlLabel
        sx={{ mr: "auto", ml: 0.5 }}
        control={<Switch size="small" checked={isShort} onChange={({ target }) => setShort(target.checked)} />}
        label={translate("history.only_differences")}
      />
      <Button onClick={onClose}>{translate("general.close")}</Button>
    </>
  );
  return (
    <DialogFrame
      title={translate("history.compare_title", { name: showInvisible(name) })}
      maxWidth="md"
      isLong
      onClose={onClose}
      buttons={buttons}
    >
      {error && <ReadFailed error={error} onRetry={refetch} />}
      {current === undefined && !error && <LoadingLines />}
      {current !== undefined && (
        <StateTable left={left} right={right} isShort={isShort} resource={resource} id={id} onRestored={onClose} />
      )}
    </DialogFrame>
  );
}

interface StateTableProps {
  readonly left: State;
  readonly right: State;
  /** Whether to show only the fields that differ. */
  readonly isShort: boolean;
  readonly resource: string;
  readonly id: number;
  readonly onRestored: () => void;
}

/** All fields of two states side by side. On a phone, a field's name is above its values. */
function StateTable({ left, right, isShort, resource, id, onRestored }: StateTableProps) {
  const isNarrow = useIsNarrow();
  const fields = fieldsOf(left.values, right.values).filter(({ before, after }) => !isShort || before !== after);
  return (
    <Table size="small" sx={{ tableLayout: "fixed", "& td, & th": { overflowWrap: "anywhere", verticalAlign: "top" } }}>
      <TableHead>
        <TableRow>
          {!isNarrow && <TableCell sx={{ width: "28%" }}>{translate("import.column_field")}</TableCell>}
          {Object.entries({ left, right }).map(([side, state]) => (
            <TableCell key={side}>
              <StateHead state={state} resource={resource} id={id} onRestored={onRestored} />
            </TableCell>
          ))}
        </TableRow>
      </TableHead>
      <TableBody>
        {fields.length === 0 && (
          <TableRow>
            <TableCell colSpan={3}>{translate("history.nothing")}</TableCell>
          </TableRow>
        )}
        {fields.map(({ path, before, after }) => (
          <FieldRow key={path} label={fullLabelOf(path)} before={before} after={after} isNarrow={isNarrow} />
        ))}
      </TableBody>
    </Table>
  );
}

interface FieldRowProps {
  readonly label: string;
  readonly before: string;
  readonly after: string;
  readonly isNarrow: boolean;
}

function FieldRow({ label, before, after, isNarrow }: FieldRowProps) {
  const isOther = before !== after;
  const heading = (
    <TableCell
      component="th"
      scope={isNarrow ? "rowgroup" : "row"}
      colSpan={isNarrow ? 2 : 1}
      sx={{ color: "text.secondary", ...(isNarrow ? { borderBottom: 0, pb: 0 } : {}) }}
    >
      {label}
      {isOther && (
        <Box component="strong" sx={{ color: "warning.main" }}>
          {` · ${translate("history.differs")}`}
        </Box>
      )}
    </TableCell>
  );
  return (
    <>
      {isNarrow && <TableRow>{heading}</TableRow>}
      <TableRow>
        {!isNarrow && heading}
        {Object.entries({ before, after }).map(([side, value]) => (
          <TableCell key={side} sx={isOther ? { bgcolor: "action.selected" } : { color: "text.secondary" }}>
            {value === "" ? translate("history.empty") : showInvisible(value)}
          </TableCell>
        ))}
      </TableRow>
    </>
  );
}

interface StateHeadProps extends Pick<StateTableProps, "resource" | "id" | "onRestored"> {
  readonly state: State;
}

function StateHead({ state: { title, explain, values, revision }, resource, id, onRestored }: StateHeadProps) {
  const restore = useRestore();
  const { fault, attempt } = useAttempt();
  const run = (chosen: number) => attempt(() => restore(resource, id, chosen).then(onRestored));
  return (
    <Stack spacing={0.5} sx={{ alignItems: "flex-start" }}>
      <Box>{title}</Box>
      {explain && (
        <Typography variant="body2" color="textSecondary">
          {explain}
        </Typography>
      )}
      {values === null && <Typography variant="body2">{translate("history.deleted_state")}</Typography>}
      {revision !== undefined && (
        <Button
          size="small"
          variant="outlined"
          aria-label={translate("history.restore_state", { time: title })}
          onClick={() => run(revision)}
        >
          {translate("history.restore")}
        </Button>
      )}
      {fault && <Alert severity="error">{fault}</Alert>}
    </Stack>
  );
}
