import { createContext, useContext } from "react";
import type { SessionInfo } from "./api.ts";
import type { Declared, SiteInfo } from "./declarations.ts";

interface SiteContextValue {
  readonly site: SiteInfo;
  readonly declared: Declared;
  readonly session: SessionInfo;
  /** Reads the sites again. */
  readonly reload: () => Promise<void>;
}

/** The site that is shown, and what there is besides. */
export const SiteContext = createContext<SiteContextValue | undefined>(undefined);

export function useDeclared(): Declared {
  return useSiteContext().declared;
}

/** Who is signed in. */
export function useSession(): SessionInfo {
  return useSiteContext().session;
}

/** A function that reads the sites again, after one was added, changed or removed. */
export function useReload(): () => Promise<void> {
  return useSiteContext().reload;
}

/** The site that is shown. */
export function useSiteInfo(): SiteInfo {
  return useSiteContext().site;
}

/** The name of the site that is shown. */
export function useSite(): string {
  return useSiteInfo().name;
}

function useSiteContext(): SiteContextValue {
  const value = useContext(SiteContext);
  if (!value) throw new Error("no site is shown");
  return value;
}
