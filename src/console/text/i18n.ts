// Gives the texts of the console to react-admin, and so to `useTranslate`.

import polyglotI18nProvider from "ra-i18n-polyglot";
import { texts } from "../texts.ts";

export const i18nProvider = polyglotI18nProvider(() => texts, "en", [{ locale: "en", name: "English" }], {
  allowMissing: true,
});
