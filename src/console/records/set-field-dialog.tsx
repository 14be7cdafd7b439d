// The dialog that gives a field the same text in all ticked records, or in all that the search finds. It first says what that would do.

import { Alert, Box, TextField, Typography } from "@mui/material";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { SetFieldBody, SetFieldResponse } from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import type { HttpError } from "../api/call-api.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { faultOf, fullLabelOf } from "../text/fields.ts";
import { toNumber } from "../text/locale.ts";
import { showInvisible } from "../text/show-invisible.ts";
import { translate } from "../text/translate.ts";
import { useRecordWrites } from "./record-data.ts";

/** The records to change: some by their IDs, or all that a search finds. */
type Target = Pick<SetFieldBody, "ids" | "search">;

interface SetFieldProps {
  readonly resource: ResourceInfo;
  readonly target: Target;
  /** The number of records in the target. */
  readonly count: number;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Milliseconds after the last key press until the server is asked what the change would do. */
const delayMs = 250;

/** Asks for a field and its text, and changes the records in one run that can be undone. */
export function SetFieldDialog({ resource, target, count, onDone, onClose }: SetFieldProps) {
  const writes = useRecordWrites(resource.path);
  const [field, setField] = useState("");
  const [value, setValue] = useState("");
  const info = resource.fields.find(({ path }) => path === field);
  const ownFault = info && faultOf(info, value);
  const body: SetFieldBody = { ...target, field, value };
  const isAsked = info !== undefined && ownFault === undefined;
  const { result, error, askAgainAfter } = useDryRun(resource.path, body, isAsked);
  const fault = value === "" && !info?.required ? undefined : (ownFault ?? result?.faults[0]?.detail);
  const changed = result && result.faults.length === 0 ? result.changed : 0;
  const name = count === 1 ? resource.singular : resource.plural;
  async function confirm() {
    // Others may have changed what the search finds.
    await writes.setField({ ...body, expected: changed }).catch(askAgainAfter);
    onDone();
  }
  return (
    <ActionDialog
      title={translate("record.set_title", { count: toNumber(count), name })}
      action={
        changed > 0 ? translate("record.set_action", { count: toNumber(changed), name }) : translate("record.set")
      }
      isEdited={field !== ""}
      isDisabled={changed === 0}
      busyText={translate("record.set_busy")}
      onConfirm={confirm}
      onClose={onClose}
    >
      <TextField
        select
        autoFocus
        label={translate("record.set_which")}
        value={field}
        onChange={({ target: { value: path } }) => setField(path)}
        slotProps={{ select: { native: true }, inputLabel: { shrink: true } }}
      >
        <option value="">{translate("record.set_choose")}</option>
        {resource.fields.map(({ path }) => (
          <option key={path} value={path}>
            {fullLabelOf(path)}
          </option>
        ))}
      </TextField>
      <TextField
        label={translate("record.set_value")}
        value={value}
        error={fault !== undefined}
        helperText={fault ?? translate("record.set_empty")}
        onChange={({ target: { value: text } }) => setValue(text)}
        slotProps={{ htmlInput: { dir: "auto", autoComplete: "off" } }}
      />
      {error && isAsked && <Alert severity="error">{(error as HttpError).message}</Alert>}
      {!(error && isAsked) && <Effect result={result} isAsked={isAsked} resource={resource} />}
    </ActionDialog>
  );
}

/** Asks the server what a change would do, once its text has not changed for a moment. */
function useDryRun(resource: string, body: SetFieldBody, isAsked: boolean) {
  const writes = useRecordWrites(resource);
  const text = JSON.stringify(body);
  const asked = useLate(text, delayMs);
  const isLate = asked !== text;
  const { data, error, refetch } = useQuery({
    queryKey: ["set-field", resource, asked],
    queryFn: ({ signal }) => writes.trySetField(JSON.parse(asked) as SetFieldBody, signal),
    enabled: isAsked && !isLate,
    gcTime: 0,
    retry: false,
  });
  function askAgainAfter(failure: unknown): never {
    void refetch();
    throw failure;
  }
  return { result: isAsked && !isLate ? data : undefined, error, askAgainAfter };
}

interface EffectProps {
  readonly result: SetFieldResponse | undefined;
  readonly isAsked: boolean;
  readonly resource: ResourceInfo;
}

/** Says what the change would do. */
function Effect({ result, isAsked, resource }: EffectProps) {
  if (!isAsked) return <Typography color="textSecondary">{translate("record.set_first")}</Typography>;
  if (!result) return <Typography color="textSecondary">{translate("record.set_counting")}</Typography>;
  const { changed, unchanged, missing, names, faults } = result;
  if (faults.length > 0) return null;
  const more = changed - names.length;
  const nameOf = (count: number) => (count === 1 ? resource.singular : resource.plural);
  return (
    <Box role="status" sx={{ overflowWrap: "anywhere" }}>
      <Typography>
        {changed === 0
          ? translate("record.set_nothing")
          : translate("record.set_changes", { count: toNumber(changed), name: nameOf(changed) })}
      </Typography>
      {changed > 0 && (
        <Box component="ul" sx={{ m: 0, pl: 3 }}>
          {names.map((text, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: names need not be unique
            <li key={index}>{showInvisible(text)}</li>
          ))}
          {more > 0 && <li>{translate("record.delete_more", { count: toNumber(more) })}</li>}
        </Box>
      )}
      {unchanged > 0 && changed > 0 && (
        <Typography color="textSecondary">
          {translate("record.set_unchanged", { count: toNumber(unchanged), name: nameOf(unchanged) })}
        </Typography>
      )}
      {missing > 0 && (
        <Typography color="textSecondary">
          {translate("record.set_missing", { count: toNumber(missing), name: nameOf(missing) })}
        </Typography>
      )}
    </Box>
  );
}

/** Returns a value as it was some milliseconds ago, once it has not changed for that long. */
function useLate<T>(value: T, ms: number): T {
  const [late, setLate] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return late;
}
