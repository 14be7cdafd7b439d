// The third step of an import shows the result of the dry run. The operator can exclude rows, and starts the import.

import {
  Alert,
  Button,
  Checkbox,
  FormControlLabel,
  Stack,
  ToggleButton,
  ToggleButtonGroup,
  Typography,
} from "@mui/material";
import { useState } from "react";
import type { ImportInfo, MissingInfo, RunBody } from "../../admin/api/record-types.ts";
import { callApi } from "../api/call-api.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { TextInput } from "../shell/fields.tsx";
import { pluralOf, useDeclared, useSiteName } from "../shell/site-context.ts";
import { askBeforeLoss, useEdited, useUnsaved } from "../shell/unsaved.ts";
import { toNumber } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { CheckTable, type Exclusion } from "./check-table.tsx";
import { type EntryKind, importKinds, importPath } from "./imports.ts";
import { Repairs } from "./repairs.tsx";
import { ActionBar, ImportProgress } from "./step-parts.tsx";

interface CheckStepProps {
  readonly info: ImportInfo;
  readonly onBack: () => void;
  /** Called once the import or another check has started, to show its step. */
  readonly onStarted: (started: ImportInfo) => void;
}

export function CheckStep({ info, onBack, onStarted }: CheckStepProps) {
  if (info.state === "checking") return <ImportProgress info={info} text="import.checking" />;
  return (
    <CheckResult key={JSON.stringify([info.rows, info.options])} info={info} onBack={onBack} onStarted={onStarted} />
  );
}

/** Rows that change records, which the operator can exclude. */
const changes = ["created", "updated"] as const;

type Excluded = Readonly<Record<(typeof changes)[number], Exclusion>>;

const nothingExcluded: Exclusion = { isAll: false, rows: new Set() };
const noCounts = { created: 0, updated: 0, unchanged: 0, rejected: 0 };

function CheckResult({ info, onBack, onStarted }: CheckStepProps) {
  const counts = info.counts ?? noCounts;
  const counted = { ...counts, missing: info.missing?.count ?? 0, warned: info.warned };
  const kinds = ([...importKinds, "missing", "warned"] as const).filter((one) =>
    one === "missing" ? info.missing : one !== "warned" || info.warned > 0,
  );
  // What needs attention comes first.
  const [kind, setKind] = useState<EntryKind>(
    info.values.length > 0
      ? "rejected"
      : info.warned > 0
        ? "warned"
        : (kinds.find((one) => counted[one] > 0) ?? "created"),
  );
  const [excluded, setExcluded] = useState<Excluded>({ created: nothingExcluded, updated: nothingExcluded });
  const canRemove = info.missing !== null && info.missing.obstacle === undefined && info.missing.count > 0;
  const [isRemoving, setRemoving] = useState(canRemove);
  useUnsaved(useEdited([toBody(excluded), isRemoving]));
  const change = changes.find((one) => one === kind);
  return (
    <Stack spacing={2}>
      <Typography aria-live="polite">{translate("import.nothing_stored")}</Typography>
      {info.skipped > 0 && <Typography>{translate("import.skipped", { smart_count: info.skipped })}</Typography>}
      <ToggleButtonGroup
        exclusive
        size="small"
        value={kind}
        onChange={(_, next) => next && setKind(next)}
        aria-label={translate("import.step_check")}
        sx={{
          display: "grid",
          gridTemplateColumns: { xs: "1fr 1fr", sm: "repeat(3, 1fr)", md: `repeat(${kinds.length}, max-content)` },
        }}
      >
        {kinds.map((one) => (
          <ToggleButton key={one} value={one} sx={{ textTransform: "none" }}>
            {translate(`import.check_${one}`, { count: toNumber(counted[one]) })}
          </ToggleButton>
        ))}
      </ToggleButtonGroup>
      {info.values.length > 0 && kind === "rejected" && <Repairs info={info} onChecked={onStarted} />}
      {info.missing && (kind === "missing" || info.missing.obstacle !== undefined) && (
        <Missing info={info} missing={info.missing} isRemoving={isRemoving} onChange={setRemoving} />
      )}
      <CheckTable
        key={kind}
        id={info.id}
        resource={info.resource}
        kind={kind}
        exclusion={change && excluded[change]}
        onExclude={(exclusion) => change && setExcluded({ ...excluded, [change]: exclusion })}
      />
      <RunBar
        info={info}
        excluded={excluded}
        removals={isRemoving ? counted.missing : 0}
        onBack={onBack}
        onStarted={onStarted}
      />
    </Stack>
  );
}

function toBody(excluded: Excluded): RunBody {
  return {
    without: changes.flatMap((kind) => [...excluded[kind].rows]),
    withoutKinds: changes.filter((kind) => excluded[kind].isAll),
  };
}

function countChosen({ counts }: ImportInfo, excluded: Excluded): number {
  const countOf = (kind: keyof Excluded) =>
    excluded[kind].isAll ? 0 : (counts?.[kind] ?? 0) - excluded[kind].rows.size;
  return countOf("created") + countOf("updated");
}

interface MissingProps {
  readonly info: ImportInfo;
  readonly missing: MissingInfo;
  readonly isRemoving: boolean;
  readonly onChange: (isRemoving: boolean) => void;
}

function Missing({ info, missing: { count, total, obstacle }, isRemoving, onChange }: MissingProps) {
  const plural = pluralOf(useDeclared().resources, info.resource);
  if (obstacle !== undefined)
    return <Alert severity="warning">{translate("import.missing_obstacle", { plural, obstacle })}</Alert>;
  if (count === 0) return null;
  return (
    <div>
      <Typography>
        {translate("import.missing_count", { count: toNumber(count), total: toNumber(total), plural })}
      </Typography>
      <FormControlLabel
        control={<Checkbox checked={isRemoving} onChange={(_, isChosen) => onChange(isChosen)} />}
        label={translate("import.missing_remove")}
      />
    </div>
  );
}

interface RunBarProps extends CheckStepProps {
  readonly excluded: Excluded;
  /** Number of records to remove. */
  readonly removals: number;
}

/** The bar with the button that starts the import. If records will be removed, a dialog first asks to type how many. */
function RunBar({ info, excluded, removals, onBack, onStarted }: RunBarProps) {
  const siteName = useSiteName();
  const plural = pluralOf(useDeclared().resources, info.resource);
  const [isAsking, setAsking] = useState(false);
  const start = async () => {
    const body: RunBody = { ...toBody(excluded), ...(removals > 0 ? { removals } : {}) };
    onStarted(await callApi<ImportInfo>("POST", `${importPath(siteName, info.id)}/run`, body));
  };
  const chosen = countChosen(info, excluded);
  const numbers = { smart_count: chosen, count: toNumber(chosen), removals: toNumber(removals) };
  return (
    <>
      <ActionBar
        action={translate(removals > 0 ? "import.run_removing" : "import.run", numbers)}
        onAct={start}
        onAsk={removals > 0 ? () => setAsking(true) : undefined}
        reason={chosen === 0 && removals === 0 ? translate("import.nothing_to_do") : ""}
      >
        <Button onClick={() => askBeforeLoss(onBack)}>{translate("import.back")}</Button>
      </ActionBar>
      {isAsking && (
        <RemovalDialog
          removals={removals}
          total={info.missing?.total ?? 0}
          plural={plural}
          onConfirm={start}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}

interface RemovalDialogProps {
  readonly removals: number;
  readonly total: number;
  readonly plural: string;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

function RemovalDialog({ removals, total, plural, onConfirm, onClose }: RemovalDialogProps) {
  const [typed, setTyped] = useState("");
  const numbers = { removals: toNumber(removals), total: toNumber(total), plural };
  return (
    <ActionDialog
      title={translate("import.removal_title", numbers)}
      action={translate("import.removal_action")}
      isDangerous
      isDisabled={typed.replace(/\D/g, "") !== String(removals)}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <Typography>{translate("import.removal_explain", numbers)}</Typography>
      <TextInput
        autoFocus
        label={translate("import.removal_type", { removals })}
        value={typed}
        onChange={setTyped}
        input={{ inputMode: "numeric", autoComplete: "off" }}
      />
    </ActionDialog>
  );
}
