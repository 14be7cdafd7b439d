// A button that opens a menu, and the menu of the actions on something.

import { IconButton, Menu, MenuItem } from "@mui/material";
import { type MouseEvent, useState } from "react";
import { MoreIcon } from "./icons.tsx";

/** Returns the properties of a button and of its menu, and a function that closes the menu. */
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
  /** Name of the button for screen readers, including the object of the actions. */
  readonly label: string;
  readonly actions: readonly Action[];
  readonly textOf: (action: Action) => string;
  /** The action that removes something for good. */
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
