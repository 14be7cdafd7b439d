// The panel that is open over the page: the search over all sites, or the list of shortcuts.

import { useSyncExternalStore } from "react";

type Panel = "find" | "shortcuts" | undefined;

let open: Panel;
const listeners = new Set<() => void>();

export function usePanel(): Panel {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => open,
  );
}

/** Opens a panel instead of the present one; undefined closes it. */
export function openPanel(panel: Panel): void {
  open = panel;
  for (const listener of [...listeners]) listener();
}
