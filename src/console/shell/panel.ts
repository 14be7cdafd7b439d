// The panel that is open over the page: the search over all sites, or the list of shortcuts.

import { SharedValue, useSharedValue } from "../api/shared-value.ts";

type Panel = "find" | "shortcuts" | undefined;

const open = new SharedValue<Panel>(undefined);

export function usePanel(): Panel {
  return useSharedValue(open);
}

/** Opens a panel instead of the present one; undefined closes it. */
export function openPanel(panel: Panel): void {
  open.set(panel);
}
