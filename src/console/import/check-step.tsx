// The third step of an import: the result of the dry run. The operator excludes rows, and starts the import.

import { Alert, Button, Stack, ToggleButton, ToggleButtonGroup, Typography } from "@mui/material";
import { useState } from "react";
import type { ImportInfo, ImportKind } from "../../admin/api/record-types.ts";
import { useSiteName } from "../shell/site-context.ts";
import { askBeforeLoss, useEdited, useUnsaved } from "../shell/unsaved.ts";
import { toNumber } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { ImportProgress } from "./import-progress.tsx";
import { importKinds, runImport } from "./imports.ts";
import { RowList } from "./row-list.tsx";

interface CheckStepProps {
  readonly info: ImportInfo;
  readonly onBack: () => void;
  /** Called when the import has started to store rows. */
  readonly onStarted: () => void;
}

/** The step that shows the result of the dry run, row by row, and starts the import. */
export function CheckStep({ info, onBack, onStarted }: CheckStepProps) {
  if (info.state === "checking") return <ImportProgress info={info} text="import.checking" />;
  return <CheckResult key={info.rows} info={info} onBack={onBack} onStarted={onStarted} />;
}

/** The rows to exclude: single rows by number, and kinds of which all rows are excluded. */
interface Excluded {
  readonly rows: ReadonlyMap<number, ImportKind>;
  readonly kinds: ReadonlySet<ImportKind>;
}

function CheckResult({ info, onBack, onStarted }: CheckStepProps) {
  const siteName = useSiteName();
  const counts = info.counts ?? { created: 0, updated: 0, unchanged: 0, rejected: 0 };
  const [kind, setKind] = useState<ImportKind>(importKinds.find((one) => counts[one] > 0) ?? "created");
  const [excluded, setExcluded] = useState<Excluded>({ rows: new Map(), kinds: new Set() });
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  const chosen = chosenRows(counts, excluded);
  useUnsaved(useEdited([[...excluded.rows.keys()], [...excluded.kinds]]));
  const run = async () => {
    setBusy(true);
    try {
      await runImport(siteName, info.id, { without: [...excluded.rows.keys()], withoutKinds: [...excluded.kinds] });
      onStarted();
    } catch (error) {
      setFault((error as Error).message);
      setBusy(false);
    }
  };
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
        sx={{ display: "grid", gridTemplateColumns: { xs: "1fr 1fr", sm: "repeat(4, max-content)" } }}
      >
        {importKinds.map((one) => (
          <ToggleButton key={one} value={one} sx={{ textTransform: "none" }}>
            {translate(`import.check_${one}`, { count: toNumber(counts[one]) })}
          </ToggleButton>
        ))}
      </ToggleButtonGroup>
      <RowList
        key={kind}
        id={info.id}
        kind={kind}
        isExcluded={(row) => excluded.kinds.has(kind) || excluded.rows.has(row)}
        areAllExcluded={excluded.kinds.has(kind)}
        areSomeExcluded={[...excluded.rows.values()].includes(kind)}
        onExclude={(row, isExcluded) => setExcluded(withRow(excluded, kind, row, isExcluded))}
        onExcludeAll={(isExcluded) => setExcluded(withKind(excluded, kind, isExcluded))}
      />
      {fault && <Alert severity="error">{fault}</Alert>}
      <Stack direction="row" spacing={1}>
        <Button variant="contained" onClick={run} disabled={isBusy || chosen === 0}>
          {chosen === 0 ? translate("import.nothing_to_do") : translate("import.run", { smart_count: chosen })}
        </Button>
        <Button onClick={() => askBeforeLoss(onBack)}>{translate("import.back")}</Button>
      </Stack>
    </Stack>
  );
}

/** Returns the number of rows that would create or change a record. */
function chosenRows(counts: Readonly<Record<ImportKind, number>>, { rows, kinds }: Excluded): number {
  let chosen = 0;
  for (const kind of ["created", "updated"] as const) {
    if (kinds.has(kind)) continue;
    chosen += counts[kind] - [...rows.values()].filter((one) => one === kind).length;
  }
  return chosen;
}

function withRow({ rows, kinds }: Excluded, kind: ImportKind, row: number, isExcluded: boolean): Excluded {
  const next = new Map(rows);
  if (isExcluded) next.set(row, kind);
  else next.delete(row);
  return { rows: next, kinds };
}

function withKind({ rows, kinds }: Excluded, kind: ImportKind, isExcluded: boolean): Excluded {
  const next = new Set(kinds);
  if (isExcluded) next.add(kind);
  else next.delete(kind);
  return { rows, kinds: next };
}
