// The page of imports and exports. Shows the step that the import's state calls for, imports that can be continued, and the export.

import {
  Alert,
  Button,
  Card,
  CardContent,
  List,
  ListItem,
  ListItemButton,
  ListItemText,
  Stack,
  Step,
  StepLabel,
  Stepper,
  Typography,
} from "@mui/material";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import type { ImportInfo, ImportsResponse } from "../../admin/api/record-types.ts";
import { type HttpError, sitePath } from "../api/call-api.ts";
import { DownloadIcon } from "../shell/icons.tsx";
import { Page } from "../shell/page.tsx";
import { LoadingLines, ReadFailed } from "../shell/query-result.tsx";
import { ViewOnlyNotice } from "../shell/role-notice.tsx";
import { Link, useAddress } from "../shell/router.tsx";
import { useCan, useSiteName } from "../shell/site-context.ts";
import { readOf, useRead, useSitePath } from "../shell/site-data.ts";
import { useIsNarrow } from "../shell/theme.ts";
import { showInvisible, translate } from "../text/translate.ts";
import { CheckStep } from "./check-step.tsx";
import { ColumnsStep } from "./columns-step.tsx";
import { FileStep, ResourceChoice, useFirstResource } from "./file-step.tsx";
import { discardImport } from "./imports.ts";
import { RunStep } from "./run-step.tsx";

const pollIntervalMs = 400;

/** Imports a file in steps. The import's ID is in the address, so that the operator can leave or reload the page. */
export function ImportPage() {
  const siteName = useSiteName();
  const canImport = useCan("records");
  const [search, setSearch] = useAddress();
  const id = search.get("id") ?? "";
  const chooseAnotherFile = () => {
    if (id) void discardImport(siteName, id).catch(() => {});
    setSearch({ id: undefined }, "push");
  };
  return (
    <Page title={translate("import.title")}>
      {id ? (
        <CurrentImport key={id} id={id} onAnotherFile={chooseAnotherFile} />
      ) : (
        <>
          <ViewOnlyNotice right="records" />
          {canImport && (
            <ImportSteps step={0}>
              <OpenImports />
              <FileStep onSent={(sent) => setSearch({ id: sent }, "push")} />
            </ImportSteps>
          )}
          <ExportCard />
        </>
      )}
    </Page>
  );
}

interface CurrentImportProps {
  readonly id: string;
  readonly onAnotherFile: () => void;
}

function CurrentImport({ id, onAnotherFile }: CurrentImportProps) {
  const { info, isGone, error, refetch, setInfo } = useImport(id);
  const [isBack, setBack] = useState(false);
  if (error && !isGone) return <ReadFailed error={error} onRetry={refetch} />;
  if (isGone) {
    return (
      <ImportSteps step={0}>
        <Alert severity="warning" sx={{ mb: 2 }}>
          {translate("import.gone")}
        </Alert>
        <Button variant="contained" onClick={onAnotherFile}>
          {translate("import.again")}
        </Button>
      </ImportSteps>
    );
  }
  if (!info) return <LoadingLines />;
  const step = isBack ? 1 : stepOf(info);
  const show = (started: ImportInfo) => {
    setInfo(started);
    setBack(false);
  };
  return (
    <ImportSteps step={step} isDone={info.state === "done"}>
      {step === 1 && <ColumnsStep info={info} onChecked={show} onAnotherFile={onAnotherFile} />}
      {step === 2 && <CheckStep info={info} onBack={() => setBack(true)} onStarted={show} />}
      {step === 3 && <RunStep info={info} onAnotherFile={onAnotherFile} />}
    </ImportSteps>
  );
}

/**
 * Returns the index of the step for a state. A failed dry run leads back to the columns. A failed import stays on its step, because it may have
 * stored rows.
 */
function stepOf({ state, run }: ImportInfo): number {
  if (state === "checking" || state === "checked") return 2;
  return run === null ? 1 : 3;
}

function useImport(id: string) {
  const queries = useQueryClient();
  const path = useSitePath(`/imports/${id}`);
  const { data, error, refetch } = useRead<ImportInfo>(path, {
    refetchInterval: ({ state: { data: last, error: fault } }) =>
      !isNotFound(fault) && (last?.state === "checking" || last?.state === "running") ? pollIntervalMs : false,
    retry: false,
  });
  const isGone = isNotFound(error);
  const setInfo = (info: ImportInfo) => queries.setQueryData(readOf<ImportInfo>(path).queryKey, info);
  return { info: data, isGone, error: data ? undefined : error, refetch, setInfo };
}

function isNotFound(error: Error | null): boolean {
  return (error as HttpError | null)?.status === 404;
}

interface ImportStepsProps {
  readonly step: number;
  readonly isDone?: boolean;
  readonly children: ReactNode;
}

const steps = ["step_file", "step_columns", "step_check", "step_run"] as const;

function ImportSteps({ step, isDone = false, children }: ImportStepsProps) {
  const isNarrow = useIsNarrow();
  // The button for the next step is at the end of a long page.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each step
  useEffect(() => scrollTo(0, 0), [step]);
  return (
    <Card sx={{ mb: 2 }}>
      <CardContent>
        <Stepper
          component="ol"
          aria-label={translate("import.steps")}
          activeStep={isDone ? steps.length : step}
          alternativeLabel={isNarrow}
          sx={{ mb: 3, p: 0 }}
        >
          {steps.map((name, index) => (
            <Step
              key={name}
              component="li"
              sx={{ px: { xs: 0, sm: 1 }, listStyle: "none" }}
              {...(index === step ? { "aria-current": "step" as const } : {})}
            >
              <StepLabel>{translate(`import.${name}`)}</StepLabel>
            </Step>
          ))}
        </Stepper>
        {children}
      </CardContent>
    </Card>
  );
}

/** Lists open imports, even those of other tabs, so that the operator can continue one. */
function OpenImports() {
  const siteName = useSiteName();
  const { data, error, refetch } = useRead<ImportsResponse>(useSitePath("/imports"), { gcTime: 0 });
  if (error) return <ReadFailed error={error} onRetry={refetch} />;
  if (!data || data.imports.length === 0) return null;
  return (
    <div>
      <Typography id="open-imports">{translate("import.open_imports")}</Typography>
      <List dense disablePadding aria-labelledby="open-imports" sx={openImportsStyle}>
        {data.imports.map(({ id, name, state }) => (
          <ListItem key={id} disablePadding>
            <ListItemButton component={Link} to={`/${siteName}/import?id=${id}`}>
              <ListItemText
                primary={showInvisible(name)}
                secondary={translate(`import.state_${state}`)}
                slotProps={{ primary: { sx: { overflowWrap: "anywhere" } } }}
              />
            </ListItemButton>
          </ListItem>
        ))}
      </List>
    </div>
  );
}

const openImportsStyle = { mt: 0.5, mb: 2, border: 1, borderColor: "divider", borderRadius: 1, overflow: "hidden" };

const formats = ["xlsx", "csv", "json", "xml"];

function ExportCard() {
  const siteName = useSiteName();
  const [resource, setResource] = useState(useFirstResource());
  return (
    <Card>
      <CardContent>
        <Stack spacing={2}>
          <Typography variant="subtitle1" component="h2">
            {translate("record.export")}
          </Typography>
          <Typography color="textSecondary">{translate("import.export_explain")}</Typography>
          <ResourceChoice label={translate("history.resource")} value={resource} onChange={setResource} />
          <Stack direction="row" spacing={1} useFlexGap sx={{ flexWrap: "wrap" }}>
            {formats.map((format) => (
              <Button
                key={format}
                variant="outlined"
                component="a"
                href={`/operator${sitePath(siteName, `/records/${resource}/export?format=${format}`)}`}
                download
                startIcon={<DownloadIcon />}
                aria-label={translate("import.export_as", { format: format.toUpperCase() })}
              >
                {format.toUpperCase()}
              </Button>
            ))}
          </Stack>
        </Stack>
      </CardContent>
    </Card>
  );
}
