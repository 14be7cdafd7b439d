// All of the console's icons, each named after its meaning. They're from Material Design Icons, on a 24 px grid. The bundler drops all shapes that
// aren't used here.

import * as shapes from "@mdi/js";
import type { SvgIcon } from "@mui/material";
import { createSvgIcon } from "@mui/material/SvgIcon";

/** An icon in the colour of the surrounding text. Screen readers skip it unless it has a `titleAccess`. */
export type IconComponent = typeof SvgIcon;

// Pages in the menu.
export const AuditIcon: IconComponent = draw(shapes.mdiClipboardTextClockOutline);
export const DashboardIcon: IconComponent = draw(shapes.mdiViewDashboard);
export const HistoryIcon: IconComponent = draw(shapes.mdiHistory);
export const ImportIcon: IconComponent = draw(shapes.mdiSwapVertical);
export const KeyIcon: IconComponent = draw(shapes.mdiKey);
export const PeopleIcon: IconComponent = draw(shapes.mdiAccountMultiple);
export const RequestsIcon: IconComponent = draw(shapes.mdiCompareHorizontal);
export const StorefrontIcon: IconComponent = draw(shapes.mdiStorefrontOutline);
export const WebhookIcon: IconComponent = draw(shapes.mdiWebhook);

// Actions.
export const AddIcon: IconComponent = draw(shapes.mdiPlus);
export const CloseIcon: IconComponent = draw(shapes.mdiClose);
export const DeleteIcon: IconComponent = draw(shapes.mdiDelete);
export const DownloadIcon: IconComponent = draw(shapes.mdiDownload);
export const LogoutIcon: IconComponent = draw(shapes.mdiLogout);
export const PauseIcon: IconComponent = draw(shapes.mdiPause);
export const PlayIcon: IconComponent = draw(shapes.mdiPlay);
export const SearchIcon: IconComponent = draw(shapes.mdiMagnify);
export const UploadIcon: IconComponent = draw(shapes.mdiFileUploadOutline);

// Buttons that open menus, texts and pages.
export const ColumnsIcon: IconComponent = draw(shapes.mdiViewWeek);
export const ExpandIcon: IconComponent = draw(shapes.mdiChevronDown);
export const KeyboardIcon: IconComponent = draw(shapes.mdiKeyboard);
export const LicencesIcon: IconComponent = draw(shapes.mdiFileDocument);
export const MenuIcon: IconComponent = draw(shapes.mdiMenu);
export const MoreIcon: IconComponent = draw(shapes.mdiDotsVertical);
export const NextIcon: IconComponent = draw(shapes.mdiChevronRight);
export const OpenIcon: IconComponent = draw(shapes.mdiUnfoldMoreHorizontal);
export const PreviousIcon: IconComponent = draw(shapes.mdiChevronLeft);
export const ViewsIcon: IconComponent = draw(shapes.mdiBookmarkOutline);

// States and kinds.
export const CheckIcon: IconComponent = draw(shapes.mdiCheck);
export const CheckedIcon: IconComponent = draw(shapes.mdiCheckboxMarked);
export const DevicesIcon: IconComponent = draw(shapes.mdiCellphoneLink);
export const DoneIcon: IconComponent = draw(shapes.mdiCheckCircle);
export const ErrorIcon: IconComponent = draw(shapes.mdiAlertCircle);
export const InfoIcon: IconComponent = draw(shapes.mdiInformation);
export const LockIcon: IconComponent = draw(shapes.mdiLockOutline);
export const ScienceIcon: IconComponent = draw(shapes.mdiFlaskEmpty);
export const TodoIcon: IconComponent = draw(shapes.mdiCircleOutline);
export const UncheckedIcon: IconComponent = draw(shapes.mdiCheckboxBlankOutline);
export const WarningIcon: IconComponent = draw(shapes.mdiAlert);

const general = draw(shapes.mdiShape);
const resources = {
  brand: draw(shapes.mdiTag),
  "order-status": draw(shapes.mdiLabel),
  location: draw(shapes.mdiMapMarker),
} as const;

/** Returns a resource's icon in the menu, or a generic one. */
export function iconOf(resource: string): IconComponent {
  return resources[resource as keyof typeof resources] ?? general;
}

/** @param path the icon's shape, as the `d` of an SVG path */
function draw(path: string): IconComponent {
  return createSvgIcon(<path d={path} />, "");
}
