// The dialog after a conflict of two edits of a record: the operator chooses field by field. The server rejects the save again if the record has changed
// meanwhile.

import { Alert, Box, Button, Radio, Table, TableBody, TableCell, TableHead, TableRow, Typography } from "@mui/material";
import { useEffect, useState } from "react";
import type { ConflictInfo, RecordResponse, RecordValues } from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import type { HttpError } from "../api/call-api.ts";
import { OldAndNewValue } from "../history/description.tsx";
import { DialogFrame } from "../shell/dialog-frame.tsx";
import { useAttempt } from "../shell/site-data.ts";
import { differences, fullLabelOf, toValues } from "../text/fields.ts";
import { When } from "../text/times.tsx";
import { showInvisible, translate } from "../text/translate.ts";
import { useRecordWrites } from "./record-data.ts";

interface ConflictDialogProps {
  readonly resource: ResourceInfo;
  /** The record as it was when the form was opened. */
  readonly base: RecordValues;
  /** The values that could not be saved. */
  readonly mine: RecordValues;
  /** The change by someone else. */
  readonly first: ConflictInfo;
  /** Returns to the form, which still has the typed values. */
  readonly onClose: () => void;
  /** Discards the typed values. */
  readonly onDiscard: () => void;
  /** Called with the saved record; without one, if nothing had to be saved. */
  readonly onDone: (saved?: RecordResponse) => void;
}

type Side = "mine" | "theirs";

/** A field with two different values: the stored value (`theirs`) and the typed value (`mine`). */
interface DifferingField {
  readonly path: string;
  readonly theirs: string;
  readonly mine: string;
  /** The value to take unless the operator chooses: the typed value if the operator has changed the field, otherwise the stored value. */
  readonly suggested: Side;
}

/** The dialog that shows the stored values beside the typed values, and asks for each field which value to store. */
export function ConflictDialog({ resource, base, mine, first, onClose, onDiscard, onDone }: ConflictDialogProps) {
  const writes = useRecordWrites(resource.path);
  const [conflict, setConflict] = useState(first);
  const [choices, setChoices] = useState<Readonly<Record<string, Side>>>({});
  const { isBusy, fault, attempt } = useAttempt();
  const stored = conflict.record as RecordValues | null;
  const fields = stored ? differingFields(base, stored, mine) : [];
  const chosen = ({ path, suggested }: DifferingField) => choices[path] ?? suggested;
  const isSame = stored !== null && fields.length === 0;
  // If no field differs, the change was stored and only its response was lost: finish.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, because onDone is a new function at each rendering
  useEffect(() => {
    if (isSame) onDone();
  }, [isSame]);

  async function save() {
    const kept = fields.filter((field) => chosen(field) === "mine");
    const texts = kept.map(({ path, mine: text }) => [path, text] as const);
    if (texts.length === 0) return onDone();
    try {
      onDone(await writes.update(conflict.id, toValues(texts), conflict.version ?? undefined));
    } catch (error) {
      // After another conflict, show the new stored values.
      const [another] = (error as HttpError).body?.conflicts ?? [];
      if (another) setConflict(another);
      throw error;
    }
  }

  const buttons = (
    <>
      <Button onClick={onDiscard}>{translate("record.take_theirs")}</Button>
      <Button variant="contained" onClick={() => attempt(save)} disabled={!stored || isBusy}>
        {translate("record.save_chosen")}
      </Button>
    </>
  );
  return (
    <DialogFrame title={translate("record.conflict_title")} maxWidth="md" onClose={onClose} buttons={buttons}>
      <Typography sx={{ mb: 1 }}>
        <ChangedBy conflict={conflict} /> {stored && translate("record.conflict")}
      </Typography>
      {fault && <Alert severity="error">{fault}</Alert>}
      {stored && (
        <ConflictTable
          fields={fields}
          chosen={chosen}
          onChoose={(path, side) => setChoices({ ...choices, [path]: side })}
        />
      )}
    </DialogFrame>
  );
}

/** Says who has changed or deleted a record, and when. */
export function ChangedBy({ conflict: { record, changed } }: { readonly conflict: ConflictInfo }) {
  const key = record === null ? "record.deleted_by" : "record.changed_by";
  if (!changed) return translate(record === null ? "record.deleted_meanwhile" : "record.changed_meanwhile");
  const name = showInvisible(changed.name ?? changed.actor);
  return (
    <>
      {translate(key, { name })} <When at={changed.at} />.
    </>
  );
}

interface OtherChangesProps {
  readonly base: RecordValues;
  readonly theirs: RecordValues;
  /** The texts of the operator, by the paths of their fields. */
  readonly mine: ReadonlyMap<string, string>;
}

/** Shows the changes of someone else in fields that the operator has not edited, as parts of a list of fields. */
export function OtherChanges({ base, theirs, mine }: OtherChangesProps) {
  const fields = differences(base, theirs).filter(({ path }) => !mine.has(path));
  return fields.map(({ path, before, after }) => (
    <Box key={path} className="field">
      <dt>{fullLabelOf(path)}</dt>
      <dd>
        {translate("record.theirs")}: <OldAndNewValue before={before} after={after} />
      </dd>
    </Box>
  ));
}

/** Returns the fields that differ between the stored values and the typed values. */
function differingFields(base: RecordValues, theirs: RecordValues, mine: RecordValues): DifferingField[] {
  const changed = new Set(differences(base, mine).map(({ path }) => path));
  return differences(theirs, mine).map(({ path, before, after }) => ({
    path,
    theirs: before,
    mine: after,
    suggested: changed.has(path) ? "mine" : "theirs",
  }));
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
