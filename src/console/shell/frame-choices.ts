// The choices that the browser keeps for the frame of all pages: colours, and the width of the menu.

import { SharedValue, useSharedValue } from "../api/shared-value.ts";

/** The colours of the page: those of the device, or light or dark ones. */
type Colours = "device" | "light" | "dark";

/** The choices that the browser keeps for the frame of all pages. The server reads it too, so that the first response already looks like that. */
interface FrameChoices {
  readonly colours: Colours;
  /** Whether the menu shows only icons. */
  readonly isMenuNarrow: boolean;
}

const choices = new SharedValue<FrameChoices>(readChoices());

/** Reads the choices from the root element, to which the server has written them. */
function readChoices(): FrameChoices {
  const { colours, menu } = document.documentElement.dataset;
  return { colours: colours === "light" || colours === "dark" ? colours : "device", isMenuNarrow: menu === "narrow" };
}

export function useFrameChoices(): FrameChoices {
  return useSharedValue(choices);
}

/** Seconds for which the browser keeps the choices: a year. */
const choicesAge = 31_536_000;

/** Changes choices. The browser keeps them in a cookie, because the server must know them before the script runs. */
export function chooseFrame(changed: Partial<FrameChoices>): void {
  const next = { ...choices.get(), ...changed };
  const text = `${next.colours}.${next.isMenuNarrow ? "narrow" : "wide"}`;
  // biome-ignore lint/suspicious/noDocumentCookie: the API that replaces it is missing on pages without TLS
  document.cookie = `storefront-frame=${text}; path=/; max-age=${choicesAge}; samesite=strict`;
  // The page around the script has these colours too.
  document.documentElement.dataset.colours = next.colours;
  choices.set(next);
}
