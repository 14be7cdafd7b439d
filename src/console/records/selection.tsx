// The ticked records of a list: some of them, or all that the search finds; and what can be done with them.

import { type ReactNode, useState } from "react";
import type { RecordsResponse, SetFieldBody } from "../../admin/api/record-types.ts";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { useNotify } from "../shell/notices.tsx";
import { useMay } from "../shell/site-context.ts";
import { toNumber } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { DeleteDialog } from "./delete-dialog.tsx";
import type { useListState } from "./list-state.ts";
import { useReadIds } from "./record-data.ts";
import { SetFieldDialog } from "./set-field-dialog.tsx";
import { SelectedActions } from "./toolbar.tsx";

interface SelectionProps {
  readonly resource: ResourceInfo;
  readonly list: ReturnType<typeof useListState>;
  readonly page: Pick<RecordsResponse, "records" | "total"> | undefined;
  readonly onDeleted: (ids: readonly number[]) => void;
}

type Keys = ReadonlySet<string | number>;

/** The ticked records; or the search, if all that it finds are ticked. */
type Ticked =
  | { readonly keys: Keys; readonly allOf?: undefined }
  | { readonly keys?: undefined; readonly allOf: string };

type OpenDialog = { readonly kind: "set" } | { readonly kind: "delete"; readonly ids: readonly number[] };

/** Maximum number of records that one request deletes. */
const maxDeleted = 1000;

const noKeys: Keys = new Set();

/** Returns the ticks for the list and, while records are ticked, the actions on them. */
export function useSelection(props: SelectionProps) {
  const { list, page } = props;
  const [ticked, setTicked] = useState<Ticked>({ keys: noKeys });
  const [open, setOpen] = useState<OpenDialog>();
  const mayEdit = useMay("records");
  const { search } = list.query;
  // Another search finds other records.
  const isAll = ticked.allOf === search;
  const keys: Keys = isAll ? new Set(page?.records.map(({ record }) => record.ID)) : (ticked.keys ?? noKeys);
  const found = page?.total ?? 0;
  const count = isAll ? found : keys.size;
  const ticks = mayEdit ? { keys, onChange: (changed: Keys) => setTicked({ keys: changed }) } : undefined;
  const ask = useAskDelete(props.resource, setOpen);
  if (count === 0) return { ticks };
  const ids = isAll ? undefined : [...keys].map(Number);
  const clear = () => setTicked({ keys: noKeys });
  const actions: ReactNode = (
    <SelectedActions
      count={count}
      found={found}
      onAll={() => setTicked({ allOf: search })}
      onNone={clear}
      onSetField={() => setOpen({ kind: "set" })}
      onDelete={() => ask(ids, search)}
      noDelete={count > maxDeleted ? translate("record.delete_limit", { count: toNumber(maxDeleted) }) : undefined}
    />
  );
  const dialog = open && (
    <SelectionDialog
      {...props}
      open={open}
      target={ids ? { ids } : { search }}
      count={count}
      onDone={clear}
      onClose={() => setOpen(undefined)}
    />
  );
  return { ticks, actions, dialog };
}

/** Returns a function that asks before the ticked records are deleted. Without IDs, the function reads the IDs that the search finds. */
function useAskDelete(resource: ResourceInfo, setOpen: (open: OpenDialog) => void) {
  const readIds = useReadIds(resource.path);
  const notify = useNotify();
  return async (ids: readonly number[] | undefined, search: string) => {
    try {
      setOpen({ kind: "delete", ids: ids ?? (await readIds(search, maxDeleted)) });
    } catch (error) {
      notify((error as Error).message, "error");
    }
  };
}

interface SelectionDialogProps extends Pick<SelectionProps, "resource" | "onDeleted"> {
  readonly open: OpenDialog;
  readonly target: Pick<SetFieldBody, "ids" | "search">;
  readonly count: number;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function SelectionDialog({ open, target, onDeleted, onDone, ...rest }: SelectionDialogProps) {
  if (open.kind === "set") return <SetFieldDialog {...rest} target={target} onDone={onDone} />;
  function finish(ids: readonly number[]) {
    onDeleted(ids);
    onDone();
  }
  return <DeleteDialog {...rest} ids={open.ids} onDone={() => finish(open.ids)} />;
}
