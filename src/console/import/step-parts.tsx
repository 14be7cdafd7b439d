// The parts that several steps of an import share: the bar with the actions, a field to choose a value, and the progress of a dry run or import.

import { Alert, Box, Button, LinearProgress, TextField, Typography } from "@mui/material";
import { type ReactNode, useId, useState } from "react";
import type { ImportInfo } from "../../admin/api/record-types.ts";
import { useSiteName } from "../shell/site-context.ts";
import { forScreenReaders } from "../shell/theme.ts";
import { toNumber } from "../text/locale.ts";
import { type TextKey, translate } from "../text/translate.ts";
import { stopImport } from "./imports.ts";

interface ActionBarProps {
  /** The name of the primary action. */
  readonly action: string;
  /** Starts the primary action. The button cannot be used while the promise is pending, nor after it is fulfilled, because then another step follows. */
  readonly onAct: () => Promise<void> | undefined;
  /** Why the primary action cannot be used; the empty text if it can. */
  readonly reason: string;
  /** Further actions. */
  readonly children: ReactNode;
}

/**
 * The actions of a step. They stay at the bottom of the window, however long the step is, and say why the primary one cannot be used. Above them is why
 * the primary one failed.
 */
export function ActionBar({ action, onAct, reason, children }: ActionBarProps) {
  const reasonId = useId();
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  function act() {
    const started = onAct();
    setBusy(started !== undefined);
    started?.catch((error: Error) => {
      setFault(error.message);
      setBusy(false);
    });
  }
  return (
    <>
      {fault && <Alert severity="error">{fault}</Alert>}
      <Box sx={barStyle}>
        <Button
          variant="contained"
          onClick={act}
          disabled={isBusy || reason !== ""}
          aria-describedby={reason === "" ? undefined : reasonId}
        >
          {action}
        </Button>
        {children}
        {reason && (
          <Typography id={reasonId} variant="body2" color="textSecondary">
            {reason}
          </Typography>
        )}
      </Box>
    </>
  );
}

const barStyle = {
  position: "sticky",
  bottom: 0,
  zIndex: 1,
  display: "flex",
  flexWrap: "wrap",
  alignItems: "center",
  gap: 1,
  py: 1.5,
  bgcolor: "background.paper",
  borderTop: 1,
  borderColor: "divider",
} as const;

interface StepChoiceProps {
  readonly label: string;
  readonly value: string;
  /** The values, and how each is shown. */
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
  /** Maximum width of the field, in pixels. */
  readonly maxWidth: number;
}

/** Chooses one of several values, with the control of the browser. */
export function StepChoice({ label, value, options, onChange, maxWidth }: StepChoiceProps) {
  return (
    <TextField
      select
      label={label}
      value={value}
      onChange={({ target }) => onChange(target.value)}
      slotProps={{ select: { native: true } }}
      sx={{ maxWidth, m: 0 }}
    >
      {options.map(([option, text]) => (
        <option key={option} value={option}>
          {text}
        </option>
      ))}
    </TextField>
  );
}

interface ImportProgressProps {
  readonly info: ImportInfo;
  readonly text: TextKey;
}

/** Shows the progress of a dry run or import, and a button that stops it. */
export function ImportProgress({ info, text }: ImportProgressProps) {
  const siteName = useSiteName();
  const [isStopped, setStopped] = useState(false);
  const label = translate(text, { rows: toNumber(info.rows) });
  const stop = () => {
    setStopped(true);
    stopImport(siteName, info.id).catch(() => setStopped(false));
  };
  const share = info.size === 0 ? 0 : Math.min(100, (100 * info.read) / info.size);
  return (
    <Box>
      <Typography gutterBottom>{label}</Typography>
      {/* Screen readers announce every 10 percent, not every update. */}
      <Box role="status" sx={forScreenReaders}>
        {translate("import.percent", { percent: Math.floor(share / 10) * 10 })}
      </Box>
      <LinearProgress variant="determinate" value={share} aria-label={label} sx={{ mb: 2 }} />
      <Button variant="outlined" onClick={stop} disabled={isStopped}>
        {translate("import.stop")}
      </Button>
    </Box>
  );
}
