// Choices that apply to every page and that the browser remembers: the theme, and the menu's width.

import { SharedValue, useSharedValue } from "../api/shared-value.ts";

type Colours = "device" | "light" | "dark";

/** Kept in a cookie, so that the server can already render the first response this way. */
interface FrameChoices {
  readonly colours: Colours;
  /** Whether the menu shows only icons. */
  readonly isMenuNarrow: boolean;
}

const choices = new SharedValue<FrameChoices>(readChoices());

/** Reads the choices that the server has set on the root element. */
function readChoices(): FrameChoices {
  const { colours, menu } = document.documentElement.dataset;
  return { colours: colours === "light" || colours === "dark" ? colours : "device", isMenuNarrow: menu === "narrow" };
}

export function useFrameChoices(): FrameChoices {
  return useSharedValue(choices);
}

/** How long the browser remembers the choices, in seconds: a year. */
const choicesAge = 31_536_000;

/** Changes choices, and stores them in a cookie, because the server needs them before the script runs. */
export function chooseFrame(changed: Partial<FrameChoices>): void {
  const next = { ...choices.get(), ...changed };
  const text = `${next.colours}.${next.isMenuNarrow ? "narrow" : "wide"}`;
  // biome-ignore lint/suspicious/noDocumentCookie: the API that replaces it is missing on pages without TLS
  document.cookie = `storefront-frame=${text}; path=/; max-age=${choicesAge}; samesite=strict`;
  // The page around the script follows the theme too.
  document.documentElement.dataset.colours = next.colours;
  choices.set(next);
}
