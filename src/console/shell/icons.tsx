// All icons of the console, each named after what it stands for. Their shapes are those of the Material Design Icons, on a grid of 24 px. The bundler
// leaves out the shapes that are not named here.

import {
  mdiAccountMultiple,
  mdiAlert,
  mdiAlertCircle,
  mdiBookmarkOutline,
  mdiCellphoneLink,
  mdiCheck,
  mdiCheckboxBlankOutline,
  mdiCheckboxMarked,
  mdiCheckCircle,
  mdiChevronDown,
  mdiChevronLeft,
  mdiChevronRight,
  mdiCircleOutline,
  mdiClose,
  mdiCompareHorizontal,
  mdiDelete,
  mdiDotsVertical,
  mdiDownload,
  mdiFileDocument,
  mdiFileUploadOutline,
  mdiFlaskEmpty,
  mdiHistory,
  mdiInformation,
  mdiKey,
  mdiKeyboard,
  mdiLabel,
  mdiLockOutline,
  mdiLogout,
  mdiMagnify,
  mdiMapMarker,
  mdiMenu,
  mdiPause,
  mdiPlay,
  mdiPlus,
  mdiShape,
  mdiStorefrontOutline,
  mdiSwapVertical,
  mdiTag,
  mdiUnfoldMoreHorizontal,
  mdiViewDashboard,
  mdiViewWeek,
  mdiWebhook,
} from "@mdi/js";
import type { SvgIcon } from "@mui/material";
import { createSvgIcon } from "@mui/material/SvgIcon";

/** An icon. It has the colour of the text beside it, and screen readers read it only if it has a `titleAccess`. */
export type IconComponent = typeof SvgIcon;

// The pages in the menu.
export const DashboardIcon: IconComponent = draw(mdiViewDashboard);
export const HistoryIcon: IconComponent = draw(mdiHistory);
export const ImportIcon: IconComponent = draw(mdiSwapVertical);
export const KeyIcon: IconComponent = draw(mdiKey);
export const PeopleIcon: IconComponent = draw(mdiAccountMultiple);
export const RequestsIcon: IconComponent = draw(mdiCompareHorizontal);
export const StorefrontIcon: IconComponent = draw(mdiStorefrontOutline);
export const WebhookIcon: IconComponent = draw(mdiWebhook);

// Actions of a person.
export const AddIcon: IconComponent = draw(mdiPlus);
export const CloseIcon: IconComponent = draw(mdiClose);
export const DeleteIcon: IconComponent = draw(mdiDelete);
export const DownloadIcon: IconComponent = draw(mdiDownload);
export const LogoutIcon: IconComponent = draw(mdiLogout);
export const PauseIcon: IconComponent = draw(mdiPause);
export const PlayIcon: IconComponent = draw(mdiPlay);
export const SearchIcon: IconComponent = draw(mdiMagnify);
export const UploadIcon: IconComponent = draw(mdiFileUploadOutline);

// Menus, texts and pages that a button opens.
export const ColumnsIcon: IconComponent = draw(mdiViewWeek);
export const ExpandIcon: IconComponent = draw(mdiChevronDown);
export const KeyboardIcon: IconComponent = draw(mdiKeyboard);
export const LicencesIcon: IconComponent = draw(mdiFileDocument);
export const MenuIcon: IconComponent = draw(mdiMenu);
export const MoreIcon: IconComponent = draw(mdiDotsVertical);
export const NextIcon: IconComponent = draw(mdiChevronRight);
export const OpenIcon: IconComponent = draw(mdiUnfoldMoreHorizontal);
export const PreviousIcon: IconComponent = draw(mdiChevronLeft);
export const ViewsIcon: IconComponent = draw(mdiBookmarkOutline);

// States and kinds of things.
export const CheckIcon: IconComponent = draw(mdiCheck);
export const CheckedIcon: IconComponent = draw(mdiCheckboxMarked);
export const DevicesIcon: IconComponent = draw(mdiCellphoneLink);
export const DoneIcon: IconComponent = draw(mdiCheckCircle);
export const ErrorIcon: IconComponent = draw(mdiAlertCircle);
export const InfoIcon: IconComponent = draw(mdiInformation);
export const LockIcon: IconComponent = draw(mdiLockOutline);
export const ScienceIcon: IconComponent = draw(mdiFlaskEmpty);
export const TodoIcon: IconComponent = draw(mdiCircleOutline);
export const UncheckedIcon: IconComponent = draw(mdiCheckboxBlankOutline);
export const WarningIcon: IconComponent = draw(mdiAlert);

const general = draw(mdiShape);
const resources = { brand: draw(mdiTag), "order-status": draw(mdiLabel), location: draw(mdiMapMarker) } as const;

/** Returns the icon of a resource in the menu. A resource that is not named here has a general icon. @param resource its name */
export function iconOf(resource: string): IconComponent {
  return resources[resource as keyof typeof resources] ?? general;
}

/** Returns the icon with a shape. Its name would be shown only by tools for developers. @param path the shape, as the `d` of an SVG path */
function draw(path: string): IconComponent {
  return createSvgIcon(<path d={path} />, "");
}
