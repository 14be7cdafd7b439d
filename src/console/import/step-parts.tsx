// What several steps of an import share: the bar with the actions, and the progress of a check or import.

import { Alert, Box, Button, LinearProgress, Typography } from "@mui/material";
import { type ReactNode, useId, useState } from "react";
import type { ImportInfo } from "../../admin/api/record-types.ts";
import { callApi } from "../api/call-api.ts";
import { useSiteName } from "../shell/site-context.ts";
import { useAttempt } from "../shell/site-data.ts";
import { forScreenReaders } from "../shell/theme.ts";
import { toNumber } from "../text/locale.ts";
import { type TextKey, translate } from "../text/translate.ts";
import { importPath } from "./imports.ts";

interface ActionBarProps {
  /** The primary action's name. */
  readonly action: string;
  /** The primary action, which then shows the next step. */
  readonly onAct: () => Promise<void>;
  /** Opens a dialog that confirms the primary action and then runs it. */
  readonly onAsk?: (() => void) | undefined;
  /** Why the primary action is disabled; empty if it isn't. */
  readonly reason: string;
  /** Further actions. */
  readonly children: ReactNode;
}

/**
 * A step's actions. They stay at the bottom of the window however long the step is, with the reason why the primary one is disabled. If it failed,
 * the error is above them.
 */
export function ActionBar({ action, onAct, onAsk, reason, children }: ActionBarProps) {
  const reasonId = useId();
  const { isBusy, fault, attempt } = useAttempt();
  return (
    <>
      {fault && <Alert severity="error">{fault}</Alert>}
      <Box sx={barStyle}>
        <Button
          variant="contained"
          onClick={onAsk ?? (() => attempt(onAct))}
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

/** Of a choice or text in a row of a table. */
export const selectStyle = {
  font: "inherit",
  color: "text.primary",
  bgcolor: "background.paper",
  border: 1,
  borderColor: "divider",
  borderRadius: 1,
  height: 32,
  px: 1,
  width: { xs: 190, sm: 220 },
  maxWidth: "100%",
} as const;

interface ImportProgressProps {
  readonly info: ImportInfo;
  readonly text: TextKey;
}

/** Shows the progress of a check or import, and a button that stops it. Rows already stored are kept. */
export function ImportProgress({ info, text }: ImportProgressProps) {
  const siteName = useSiteName();
  const [isStopped, setStopped] = useState(false);
  const label = translate(text, { rows: toNumber(info.rows) });
  const stop = () => {
    setStopped(true);
    callApi("POST", `${importPath(siteName, info.id)}/stop`, {}).catch(() => setStopped(false));
  };
  const share = info.size === 0 ? 0 : Math.min(100, (100 * info.read) / info.size);
  return (
    <Box>
      <Typography gutterBottom>{label}</Typography>
      {/* Screen readers only announce every 10 percent. */}
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
