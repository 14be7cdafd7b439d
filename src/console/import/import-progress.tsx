// The progress of a dry run or import, in rows and percent.

import { Box, Button, LinearProgress, Typography } from "@mui/material";
import { useState } from "react";
import type { ImportInfo } from "../../admin/api/record-types.ts";
import { useSiteName } from "../shell/site-context.ts";
import { forScreenReaders } from "../shell/theme.ts";
import { toNumber } from "../text/locale.ts";
import { type TextKey, translate } from "../text/translate.ts";
import { stopImport } from "./imports.ts";

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
