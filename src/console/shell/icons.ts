// The icons of resources. A resource that is not named here has a general icon.

import CategoryIcon from "@mui/icons-material/Category";
import LabelIcon from "@mui/icons-material/Label";
import LocalOfferIcon from "@mui/icons-material/LocalOffer";
import PlaceIcon from "@mui/icons-material/Place";

const icons = { brand: LocalOfferIcon, "order-status": LabelIcon, location: PlaceIcon } as const;

/** Returns the icon of a resource in the menu. @param resource its name */
export function iconOf(resource: string): typeof CategoryIcon {
  return icons[resource as keyof typeof icons] ?? CategoryIcon;
}
