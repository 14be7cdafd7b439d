// The choice of the delimiter and the encoding of a CSV file.

import { Stack, TextField } from "@mui/material";
import type { DialectBody, FilePreviewResponse } from "../../admin/api/record-types.ts";
import { translate } from "../text/translate.ts";

interface DialectChoiceProps {
  readonly preview: FilePreviewResponse | undefined;
  readonly dialect: DialectBody;
  readonly onChange: (change: DialectBody) => void;
}

const delimiters = { ",": "comma", ";": "semicolon", "\t": "tab", "|": "bar" } as const;
const encodings = ["utf-8", "utf-16le", "utf-16be", "windows-1252", "windows-1250", "iso-8859-1", "iso-8859-15"];

/** Shows the detected delimiter and encoding of the file, and lets the operator correct them. */
export function DialectChoice({ preview, dialect, onChange }: DialectChoiceProps) {
  const delimiter = dialect.delimiter ?? preview?.delimiter ?? ",";
  const encoding = dialect.encoding ?? preview?.encoding ?? "utf-8";
  return (
    <Stack direction={{ xs: "column", sm: "row" }} spacing={1.5}>
      <TextField
        select
        size="small"
        label={translate("import.delimiter")}
        value={delimiter}
        onChange={({ target }) => onChange({ delimiter: target.value })}
        slotProps={{ select: { native: true } }}
        sx={{ m: 0, minWidth: 200 }}
      >
        {Object.entries(delimiters).map(([character, name]) => (
          <option key={character} value={character}>
            {translate(`import.${name}`)}
          </option>
        ))}
      </TextField>
      <TextField
        select
        size="small"
        label={translate("import.encoding")}
        value={encoding}
        onChange={({ target }) => onChange({ encoding: target.value })}
        slotProps={{ select: { native: true } }}
        sx={{ m: 0, minWidth: 200 }}
      >
        {encodings.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </TextField>
    </Stack>
  );
}
