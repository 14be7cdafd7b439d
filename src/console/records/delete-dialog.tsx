// The dialog that asks before records are deleted.

import { Box, Typography } from "@mui/material";
import { useQuery } from "@tanstack/react-query";
import { type Identifier, useDataProvider, useDeleteMany } from "react-admin";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { ActionDialog } from "../shell/action-dialog.tsx";
import { useSiteName } from "../shell/site-context.ts";
import { toNumber } from "../text/locale.ts";
import { showInvisible } from "../text/show-invisible.ts";
import { translate } from "../text/translate.ts";

/** Maximum number of records that the dialog names. */
const maxNamed = 5;

interface DeleteDialogProps {
  readonly resource: ResourceInfo;
  readonly ids: readonly Identifier[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** The dialog that asks before records are deleted. It shows the shop, the number of records, and the names of the first ones. */
export function DeleteDialog({ resource, ids, onDone, onClose }: DeleteDialogProps) {
  const siteName = useSiteName();
  const [deleteMany] = useDeleteMany();
  const names = useNames(resource.path, ids.slice(0, maxNamed));
  const name = ids.length === 1 ? resource.singular : resource.plural;
  async function remove() {
    await deleteMany(
      resource.path,
      { ids: [...ids] },
      { mutationMode: "pessimistic", returnPromise: true, onError: () => {} },
    );
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
        {names?.map(({ id, name: text }) => (
          <li key={id}>{[showInvisible(text), translate("record.id", { id })].filter(Boolean).join(" · ")}</li>
        ))}
        {ids.length > maxNamed && (
          <li>{translate("record.delete_more", { count: toNumber(ids.length - maxNamed) })}</li>
        )}
      </Box>
      <Typography>{translate("record.delete_explain")}</Typography>
    </ActionDialog>
  );
}

/** Reads the names of records. The name of a record that cannot be read is empty. */
function useNames(resource: string, ids: readonly Identifier[]) {
  const provider = useDataProvider();
  const { data } = useQuery({
    queryKey: ["names", resource, ids],
    queryFn: () =>
      Promise.all(
        ids.map(async (id) => ({
          id,
          name: await provider.getOne(resource, { id }).then(
            ({ data: { Name } }) => String(Name),
            () => "",
          ),
        })),
      ),
    gcTime: 0,
    retry: false,
  });
  return data;
}
