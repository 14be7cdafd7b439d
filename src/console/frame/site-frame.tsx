// Loads the site in the address, and shows its page in the layout.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, Suspense, useEffect, useMemo } from "react";
import type { SessionInfo } from "../../admin/api/types.ts";
import type { Declared } from "../api/call-api.ts";
import { RecordTable } from "../records/record-table.tsx";
import { explainReload, lazyPart, preloadParts } from "../shell/lazy-part.tsx";
import { PlainPage } from "../shell/page.tsx";
import { LoadingLines } from "../shell/query-result.tsx";
import { navigate, usePath } from "../shell/router.tsx";
import { SiteContext, useDeclared, useSession } from "../shell/site-context.ts";
import { translate } from "../text/translate.ts";
import { UnknownPage } from "./access-notices.tsx";
import { ConsoleLayout } from "./layout.tsx";
import { pageNamed } from "./menu.tsx";

const isOverview = !/^#\/[^/?]*\/[^/?]/.test(location.hash);
const OverviewPage = lazyPart(async () => (await import("./overview-parts.ts")).OverviewPage, undefined, isOverview);
const FirstSite = lazyPart(async () => (await import("./settings-parts.ts")).FirstSite);

interface FrameProps {
  readonly session: SessionInfo;
  readonly declared: Declared;
  /** Reloads the sites. */
  readonly reload: () => Promise<void>;
}

/** Leaves a slow network to the first page. */
const preloadAfterMs = 3000;

/** Shows the site in the address, or the first one if the address has none. */
export function SiteFrame({ session, declared, reload }: FrameProps) {
  const [siteName = ""] = usePath();
  const site = declared.sites.find(({ name }) => name === siteName);
  const [first] = declared.sites;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another site begins with an empty cache
  const queryClient = useMemo(createQueryClient, [session.id, siteName]);
  const shown = useMemo(() => site && { site, declared, session, reload }, [site, declared, session, reload]);
  useEffect(() => {
    explainReload();
    const timer = setTimeout(preloadParts, preloadAfterMs);
    return () => clearTimeout(timer);
  }, []);
  if (!first)
    return (
      <Suspense>
        <FirstSite session={session} reload={reload} />
      </Suspense>
    );
  if (siteName === "") return <Redirect to={`/${first.name}`} />;
  if (!shown) return <UnknownSite siteName={siteName} first={first.name} />;
  return (
    <SiteContext value={shown}>
      <QueryClientProvider client={queryClient}>
        {/* Switching sites discards whatever was chosen or typed. */}
        <ConsoleLayout key={siteName}>
          <Suspense fallback={<LoadingLines />}>
            <ShownPage />
          </Suspense>
        </ConsoleLayout>
      </QueryClientProvider>
    </SiteContext>
  );
}

function ShownPage(): ReactNode {
  const [, name = "", ...rest] = usePath();
  const { resources } = useDeclared();
  const session = useSession();
  if (name === "") return <OverviewPage />;
  const resource = resources.find(({ path }) => path === name);
  if (resource && rest.length < 2) return <RecordTable key={name} resource={resource} />;
  return (rest.length === 0 && pageNamed(name, session)) || <UnknownPage />;
}

function Redirect({ to }: { readonly to: string }) {
  useEffect(() => navigate(to, { replace: true }), [to]);
  return null;
}

/** Shown if the site doesn't exist, or belongs to other operators. @param first name of the site to link to */
function UnknownSite({ siteName, first }: { readonly siteName: string; readonly first: string }) {
  return (
    <PlainPage
      title={translate("app.unknown_page")}
      detail={translate("app.unknown_site", { name: siteName })}
      action={translate("app.to_overview")}
      onAction={() => navigate(`/${first}`)}
    />
  );
}

const retryDelayMs = 1000;

/**
 * Creates the cache for a site's reads. If the server couldn't be reached or failed (5xx), a read is repeated once; if it was rejected (4xx), it
 * isn't. Requests already wait while the server can't be reached, so the browser's idea of being online doesn't matter.
 */
function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        retry: (failures, error) => failures < 1 && isTransient(error),
        retryDelay: retryDelayMs,
      },
    },
  });
}

function isTransient(error: Error): boolean {
  const { status = 0 } = error as { readonly status?: number };
  return status === 0 || status >= 500;
}
