// The dialog that asks before records are deleted.

import { Box, Typography } from "@mui/material";
import { useQueries } from "@tanstack/react-query";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { useSiteName } from "../shell/site-context.ts";
import { textAt } from "../text/fields.ts";
import { toNumber } from "../text/locale.ts";
import { showInvisible } from "../text/show-invisible.ts";
import { translate } from "../text/translate.ts";
import { useReadRecord, useRecordWrites } from "./record-data.ts";

/** Maximum number of records that the dialog names. */
const maxNamed = 5;

interface DeleteDialogProps {
  readonly resource: ResourceInfo;
  readonly ids: readonly number[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** The dialog that asks before records are deleted. It shows the shop, the number of records, and the names of the first ones. */
export function DeleteDialog({ resource, ids, onDone, onClose }: DeleteDialogProps) {
  const siteName = useSiteName();
  const writes = useRecordWrites(resource.path);
  const named = ids.slice(0, maxNamed);
  const names = useNames(resource.path, named);
  const name = ids.length === 1 ? resource.singular : resource.plural;
  async function remove() {
    await writes.remove(ids);
    onDone();
  }
  return (
    <ActionDialog
      title={translate("record.delete_title", { count: toNumber(ids.length), name, site: siteName })}
      action={translate("record.delete")}
      isDangerous
      isDisabled={!names}
      onConfirm={remove}
      onClose={onClose}
    >
      <Box component="ul" sx={{ m: 0, pl: 3, overflowWrap: "anywhere" }}>
        {names?.map((text, index) => (
          <li key={named[index]}>
            {[showInvisible(text), translate("record.id", { id: named[index] ?? 0 })].filter(Boolean).join(" · ")}
          </li>
        ))}
        {ids.length > maxNamed && (
          <li>{translate("record.delete_more", { count: toNumber(ids.length - maxNamed) })}</li>
        )}
      </Box>
      <Typography>{translate("record.delete_explain")}</Typography>
    </ActionDialog>
  );
}

/** Reads the names of records; undefined until all are read. The name of a record that cannot be read is empty. */
function useNames(resource: string, ids: readonly number[]): readonly string[] | undefined {
  const readRecord = useReadRecord(resource);
  const reads = useQueries({ queries: ids.map((id) => ({ ...readRecord(id), retry: false })) });
  if (reads.some(({ isPending }) => isPending)) return undefined;
  return reads.map(({ data }) => (data ? textAt(data.record, "Name") : ""));
}
