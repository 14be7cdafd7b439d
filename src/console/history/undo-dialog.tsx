// The dialog for an undo, which starts with a dry run, and lists records that would be skipped.

import { Alert, List, ListItem, Typography } from "@mui/material";
import { useEffect, useState } from "react";
import type { UndoResponse } from "../../admin/api/record-types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { type UndoableEntry, useUndo } from "../shell/notices.tsx";
import { ReadFailed } from "../shell/query-result.tsx";
import { toNumber } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { nameOfActor } from "./description.tsx";

interface UndoDialogProps {
  readonly entry: UndoableEntry;
  readonly onDone: (result: UndoResponse) => void;
  readonly onClose: () => void;
}

export function UndoDialog({ entry, onDone, onClose }: UndoDialogProps) {
  const undo = useUndo();
  const [plan, setPlan] = useState<UndoResponse>();
  const [error, setError] = useState<Error>();
  const ask = () => {
    setError(undefined);
    undo(entry, true).then(setPlan, setError);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked once for each entry
  useEffect(ask, [entry]);
  const nothing = plan && plan.deleted + plan.restored === 0;
  return (
    <ActionDialog
      title={translate("history.undo_title")}
      action={translate("general.undo")}
      isDisabled={!plan || nothing}
      isDangerous={plan !== undefined && plan.deleted > 0}
      onConfirm={async () => onDone(await undo(entry, false))}
      onClose={onClose}
    >
      {error && <ReadFailed error={error} onRetry={ask} />}
      {nothing && <Typography>{translate("history.undo_nothing")}</Typography>}
      {plan && !nothing && (
        <Typography>
          {(["restored", "deleted"] as const)
            .filter((name) => plan[name] > 0)
            .map((name) => translate(`history.undo_${name}`, { smart_count: plan[name], count: toNumber(plan[name]) }))
            .join(" ")}
        </Typography>
      )}
      {plan && plan.skipped.length > 0 && <SkippedRecords plan={plan} />}
    </ActionDialog>
  );
}

const shownRecords = 10;

/** Lists the records that the undo skips because they have been changed since. */
function SkippedRecords({ plan }: { readonly plan: UndoResponse }) {
  return (
    <Alert severity="warning">
      {translate("history.undo_skipped", { smart_count: plan.skippedCount })}
      <List dense disablePadding>
        {plan.skipped.slice(0, shownRecords).map(({ resource, id, changed }) => (
          <ListItem key={`${resource} ${id}`} disableGutters>
            {changed
              ? translate("history.skipped_changed", {
                  resource,
                  id,
                  actor: nameOfActor({ ...changed, actorLabel: null }),
                })
              : translate("history.skipped_unknown", { resource, id })}
          </ListItem>
        ))}
      </List>
    </Alert>
  );
}
