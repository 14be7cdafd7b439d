// The last step of an import: its progress, then its result, with the rejected rows as a file, and undo.

import { Alert, Button, Stack, Typography } from "@mui/material";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { ImportInfo } from "../../admin/api/record-types.ts";
import { UndoDialog } from "../history/undo-dialog.tsx";
import { pluralOf, singularOf, useDeclared, useSiteName } from "../shell/site-context.ts";
import { toNumber } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { CheckTable } from "./check-table.tsx";
import { importPath } from "./imports.ts";
import { ImportProgress } from "./step-parts.tsx";

interface RunStepProps {
  readonly info: ImportInfo;
  readonly onAnotherFile: () => void;
}

export function RunStep({ info, onAnotherFile }: RunStepProps) {
  if (info.state === "running") return <ImportProgress info={info} text="import.running" />;
  return <ImportResult info={info} onAnotherFile={onAnotherFile} />;
}

function ImportResult({ info, onAnotherFile }: RunStepProps) {
  const siteName = useSiteName();
  const queries = useQueryClient();
  useEffect(() => {
    void queries.invalidateQueries({ predicate: ({ queryKey: [, , part] }) => part !== "imports" });
  }, [queries]);
  const { counts } = info;
  return (
    <Stack spacing={2}>
      {info.undone ? <Undone resource={info.resource} undone={info.undone} /> : <Outcome info={info} />}
      <Stack direction="row" spacing={1} useFlexGap sx={{ flexWrap: "wrap" }}>
        <UndoButton info={info} />
        {info.hasRejects && (
          <Button variant="outlined" component="a" href={`/operator${importPath(siteName, info.id)}/rejected`} download>
            {translate("import.rejected_file")}
          </Button>
        )}
        <Button onClick={onAnotherFile}>{translate("import.again")}</Button>
      </Stack>
      {info.hasRejects && <Typography variant="body2">{translate("import.rejected_explain")}</Typography>}
      {counts && counts.rejected > 0 && <CheckTable id={info.id} resource={info.resource} kind="rejected" />}
    </Stack>
  );
}

function Outcome({ info: { counts, error, isInterrupted, skipped, missing } }: Pick<RunStepProps, "info">) {
  const severity = error ? "error" : isInterrupted || (counts?.rejected ?? 0) > 0 ? "warning" : "success";
  const title = error ? "import.failed" : isInterrupted ? "import.stopped" : "import.done";
  return (
    <Alert severity={severity}>
      <Typography>{translate(title)}</Typography>
      {error?.detail}
      {counts && <div>{translate("import.done_counts", inNumbers(counts))}</div>}
      {missing && missing.removed > 0 && <div>{translate("import.removed", { smart_count: missing.removed })}</div>}
      {missing && missing.changed > 0 && (
        <div>{translate("import.removal_kept", { smart_count: missing.changed })}</div>
      )}
      {skipped > 0 && translate("import.skipped", { smart_count: skipped })}
    </Alert>
  );
}

interface UndoneProps {
  readonly resource: string;
  readonly undone: NonNullable<ImportInfo["undone"]>;
}

/** Says what happened to the records when the import was undone, whether here or on the history page. */
function Undone({ resource, undone }: UndoneProps) {
  const { resources } = useDeclared();
  return (
    <Alert severity={undone.skipped > 0 ? "warning" : "info"}>
      <Typography>{translate(undone.skipped > 0 ? "import.undone_partly" : "import.undone")}</Typography>
      {(["deleted", "restored", "skipped"] as const).map((kind) => {
        const count = undone[kind];
        const name = (count === 1 ? singularOf : pluralOf)(resources, resource);
        const values = { smart_count: count, count: toNumber(count), name };
        return count > 0 && <div key={kind}>{translate(`import.undone_${kind}`, values)}</div>;
      })}
    </Alert>
  );
}

function inNumbers(counts: NonNullable<ImportInfo["counts"]>): Record<string, string> {
  return Object.fromEntries(Object.entries(counts).map(([kind, count]) => [kind, toNumber(count)]));
}

function UndoButton({ info: { revisions, run, undone } }: { readonly info: ImportInfo }) {
  const [isOpen, setOpen] = useState(false);
  if (!revisions || (undone && undone.skipped === 0)) return null;
  return (
    <>
      <Button variant="outlined" onClick={() => setOpen(true)}>
        {translate("import.undo")}
      </Button>
      {isOpen && (
        <UndoDialog
          entry={{ ...revisions, run }}
          onClose={() => setOpen(false)}
          // No notice, because this page already shows the result.
          onDone={() => {}}
        />
      )}
    </>
  );
}
