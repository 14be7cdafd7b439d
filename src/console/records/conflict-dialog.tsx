// The dialog after a conflict of two edits. merge.ts compares the values, and the server rejects the save again if the record has changed meanwhile.

import {
  Alert,
  Box,
  Button,
  Dialog,
  DialogActions,
  DialogContent,
  DialogTitle,
  Radio,
  Table,
  TableBody,
  TableCell,
  TableHead,
  TableRow,
  Typography,
} from "@mui/material";
import { useCallback, useEffect, useState } from "react";
import { useDataProvider, useRefresh } from "react-admin";
import type { RecordValues } from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { fullLabelOf } from "../text/fields.ts";
import { showInvisible } from "../text/show-invisible.ts";
import { translate } from "../text/translate.ts";
import { type DifferingField, differingFields, mergedValues, type Side } from "./merge.ts";

/** A change that was rejected, because somebody else has changed the record. */
export interface Conflict {
  /** The record as it was when the form was opened. */
  readonly base: RecordValues;
  /** The values that could not be saved. */
  readonly mine: RecordValues;
}

interface ConflictDialogProps {
  readonly resource: ResourceInfo;
  readonly id: string;
  readonly conflict: Conflict;
  /** Returns to the form, which still has the typed values. */
  readonly onClose: () => void;
  /** Discards the typed values. */
  readonly onDiscard: () => void;
  readonly onDone: () => void;
}

/** The dialog that shows the stored values beside the typed values, and asks for each field which value to store. */
export function ConflictDialog({ resource, id, conflict, onClose, onDiscard, onDone }: ConflictDialogProps) {
  const provider = useDataProvider();
  const refresh = useRefresh();
  const { stored, fault, read, setFault } = useStored(resource.path, id);
  const [choices, setChoices] = useState<Readonly<Record<string, Side>>>({});
  const [isBusy, setBusy] = useState(false);
  const fields = stored && differingFields(conflict.base, stored, conflict.mine);
  const chosen = ({ path, suggested }: DifferingField) => choices[path] ?? suggested;
  const isSame = fields?.length === 0;
  // If no field differs, the change was stored and only its response was lost: finish.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, because finish is a new function at each rendering
  useEffect(() => {
    if (isSame) finish();
  }, [isSame]);

  function finish() {
    refresh();
    onDone();
  }

  async function save() {
    if (!fields || isBusy) return;
    setBusy(true);
    try {
      const data = mergedValues(conflict.mine, fields, chosen);
      await provider.update(resource.path, { id, data, previousData: stored as never });
      finish();
    } catch (error) {
      // After another conflict, show the new stored values. If they cannot be read, show why: without them, a further attempt would fail again.
      const isConflict = (error as { readonly status?: number }).status === 412;
      if (!isConflict || (await read())) setFault((error as Error).message);
      setBusy(false);
    }
  }

  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="md" aria-labelledby="conflict">
      <DialogTitle id="conflict">{translate("record.conflict_title")}</DialogTitle>
      <DialogContent>
        <Typography sx={{ mb: 1 }}>{translate("record.conflict")}</Typography>
        {fault && <Alert severity="error">{fault}</Alert>}
        {fields && (
          <ConflictTable
            fields={fields}
            chosen={chosen}
            onChoose={(path, side) => setChoices({ ...choices, [path]: side })}
          />
        )}
      </DialogContent>
      <DialogActions>
        <Button onClick={onDiscard}>{translate("record.take_theirs")}</Button>
        <Button variant="contained" onClick={save} disabled={!stored || isBusy}>
          {translate("record.save_chosen")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

/** Reads the stored record. Returns it, and a function that repeats the read. This function returns false if the read fails, and sets `fault`. */
function useStored(resource: string, id: string) {
  const provider = useDataProvider();
  const [stored, setStored] = useState<RecordValues>();
  const [fault, setFault] = useState("");
  const read = useCallback(
    () =>
      provider.getOne(resource, { id }).then(
        ({ data }) => {
          setStored(data);
          return true;
        },
        (error) => {
          setFault(error.message);
          return false;
        },
      ),
    [provider, resource, id],
  );
  useEffect(() => void read(), [read]);
  return { stored, fault, read, setFault };
}

interface ConflictTableProps {
  readonly fields: readonly DifferingField[];
  readonly chosen: (field: DifferingField) => Side;
  readonly onChoose: (path: string, side: Side) => void;
}

const sides = ["theirs", "mine"] as const;

/** A table of the fields with two values, in which the operator chooses one for each field. */
function ConflictTable({ fields, ...rest }: ConflictTableProps) {
  return (
    <Box sx={{ overflowX: "auto" }}>
      <Table size="small">
        <TableHead>
          <TableRow>
            <TableCell component="td" />
            {sides.map((side) => (
              <TableCell key={side}>{translate(`record.${side}`)}</TableCell>
            ))}
          </TableRow>
        </TableHead>
        <TableBody>
          {fields.map((field) => (
            <ConflictRow key={field.path} field={field} {...rest} />
          ))}
        </TableBody>
      </Table>
    </Box>
  );
}

interface ConflictRowProps extends Omit<ConflictTableProps, "fields"> {
  readonly field: DifferingField;
}

function ConflictRow({ field, chosen, onChoose }: ConflictRowProps) {
  const { path } = field;
  const label = fullLabelOf(path);
  return (
    <TableRow>
      <TableCell component="th" scope="row">
        {label}
      </TableCell>
      {sides.map((side) => (
        <TableCell key={side} sx={{ overflowWrap: "anywhere" }}>
          <Radio
            size="small"
            name={`conflict ${path}`}
            checked={chosen(field) === side}
            onChange={() => onChoose(path, side)}
            slotProps={{ input: { "aria-label": `${label}: ${translate(`record.${side}`)}` } }}
          />
          {showInvisible(field[side]) || <em>{translate("record.empty_value")}</em>}
        </TableCell>
      ))}
    </TableRow>
  );
}
