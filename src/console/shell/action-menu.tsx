// A button that opens a menu of actions.

import { IconButton, Menu, MenuItem } from "@mui/material";
import { type MouseEvent, useState } from "react";
import { MoreIcon } from "./icons.tsx";

/** Returns props for the button and its menu, and a function that closes the menu. */
export function useMenu() {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const close = () => setAnchor(null);
  return {
    close,
    button: {
      "aria-haspopup": "menu",
      "aria-expanded": anchor !== null,
      onClick: ({ currentTarget }: MouseEvent<HTMLElement>) => setAnchor(currentTarget),
    },
    menu: { open: anchor !== null, anchorEl: anchor, onClose: close },
  } as const;
}

interface ActionMenuProps<Action extends string> {
  /** The button's name for screen readers, including what the actions apply to. */
  readonly label: string;
  readonly actions: readonly Action[];
  readonly textOf: (action: Action) => string;
  /** An action that permanently removes something. */
  readonly dangerous?: Action;
  readonly onChoose: (action: Action) => void;
}

export function ActionMenu<Action extends string>(props: ActionMenuProps<Action>) {
  const { label, actions, textOf, dangerous, onChoose } = props;
  const { button, menu, close } = useMenu();
  return (
    <>
      <IconButton size="small" aria-label={label} {...button}>
        <MoreIcon fontSize="small" />
      </IconButton>
      <Menu {...menu}>
        {actions.map((action) => (
          <MenuItem
            key={action}
            sx={action === dangerous ? { color: "error.main" } : {}}
            onClick={() => {
              close();
              onChoose(action);
            }}
          >
            {textOf(action)}
          </MenuItem>
        ))}
      </Menu>
    </>
  );
}
