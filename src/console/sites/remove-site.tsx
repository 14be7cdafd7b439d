import { Box, TextField, Typography } from "@mui/material";
import { useState } from "react";
import { useTranslate } from "react-admin";
import { useDeclared } from "../frame/site-context.ts";
import { Confirm } from "../shell/confirm.tsx";
import { ReadFailed } from "../shell/loaded.tsx";
import { toNumber } from "../text/locale.ts";
import { useSiteContents } from "./sites.ts";

interface RemoveSiteProps {
  readonly name: string;
  readonly onRemove: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** The dialog that lists what the removal of a site deletes, and removes the site after its name was typed. */
export function RemoveSite({ name, onRemove, onClose }: RemoveSiteProps) {
  const translate = useTranslate();
  const { resources } = useDeclared();
  const { data: contents, error, refetch } = useSiteContents(name);
  const [typed, setTyped] = useState("");
  const records = resources.map(({ path, singular, plural }) => {
    const count = contents?.records[path] ?? 0;
    return translate("sites.remove_records", { count: toNumber(count), what: count === 1 ? singular : plural });
  });
  const lines = contents && [
    ...records,
    translate("sites.remove_keys", { smart_count: contents.keys }),
    translate("sites.remove_webhooks", { smart_count: contents.webhooks }),
  ];
  return (
    <Confirm
      title={translate("sites.remove_title", { name })}
      action={translate("sites.remove")}
      isDangerous
      isDisabled={!contents || typed !== name}
      onConfirm={onRemove}
      onClose={onClose}
    >
      {error && <ReadFailed error={error} onRetry={refetch} />}
      <Typography>{translate("sites.remove_explain")}</Typography>
      <Box component="ul" sx={{ m: 0 }}>
        {lines?.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </Box>
      <Typography>{translate("sites.remove_final")}</Typography>
      <TextField
        autoFocus
        label={translate("sites.remove_name", { name })}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        slotProps={{ htmlInput: { autoCapitalize: "none", spellCheck: false, autoComplete: "off" } }}
      />
    </Confirm>
  );
}
