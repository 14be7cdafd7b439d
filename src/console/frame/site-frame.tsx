// Connects react-admin with the site in the address: its pages, its records, its state in the browser, and the session. Parts of react-admin, such as
// the button Save of a form, find the data provider through the component `Admin`.

import { QueryClient } from "@tanstack/react-query";
import { createContext, useContext, useMemo } from "react";
import { Admin, CustomRoutes, Resource } from "react-admin";
import { Navigate, Route, Routes, useParams } from "react-router-dom";
import type { SessionInfo } from "../../admin/api/types.ts";
import { createDataProvider } from "../api/data-provider.ts";
import type { Declared } from "../api/declarations.ts";
import { OverviewPage } from "../overview/overview-page.tsx";
import { RecordTable } from "../records/record-table.tsx";
import { createAuthProvider } from "../session/session.ts";
import { iconOf } from "../shell/icons.ts";
import { reportWrite } from "../shell/notices.tsx";
import { SiteContext } from "../shell/site-context.ts";
import { darkTheme, lightTheme } from "../shell/theme.ts";
import { FirstSite } from "../sites/first-site.tsx";
import { capitalized } from "../text/locale.ts";
import { i18nProvider, translate } from "../text/translate.ts";
import { AdminNotices, ConsoleLayout } from "./layout.tsx";
import { listPages } from "./pages.tsx";
import { createSiteStore } from "./site-store.ts";
import { UnknownPage, UnknownSite } from "./unknown-page.tsx";

interface FrameProps {
  readonly session: SessionInfo;
  readonly declared: Declared;
  readonly reload: () => Promise<void>;
}

/** Passes the properties to the pages, because the router is created only once and so cannot pass new ones. */
export const FrameContext = createContext<FrameProps | undefined>(undefined);

/** Shows the site in the address; without one, the first site. */
export function SiteRoutes() {
  const props = useContext(FrameContext);
  if (!props) return null;
  const [first] = props.declared.sites;
  if (!first) return <FirstSite session={props.session} reload={props.reload} />;
  return (
    <Routes>
      <Route path="/:site/*" element={<SiteFrame {...props} />} />
      <Route path="*" element={<Navigate to={`/${first.name}`} replace />} />
    </Routes>
  );
}

function SiteFrame({ session, declared, reload }: FrameProps) {
  const { site: siteName = "" } = useParams();
  const known = declared.sites.find(({ name }) => name === siteName);
  const { maxSearchLength } = declared;
  const dataProvider = useMemo(
    () => createDataProvider(siteName, maxSearchLength, reportWrite),
    [siteName, maxSearchLength],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: another site begins with an empty cache
  const queryClient = useMemo(createQueryClient, [session.id, siteName]);
  const siteId = known?.id ?? 0;
  const store = useMemo(() => createSiteStore(session.id, siteId), [session.id, siteId]);
  const authProvider = useMemo(() => createAuthProvider(session), [session]);
  const shown = useMemo(() => known && { site: known, declared, session, reload }, [known, declared, session, reload]);
  if (!shown) return <UnknownSite siteName={siteName} first={declared.sites[0]?.name ?? ""} />;
  return (
    <SiteContext value={shown}>
      <Admin
        key={siteName}
        basename={`/${siteName}`}
        title={translate("app.title")}
        dataProvider={dataProvider}
        store={store}
        queryClient={queryClient}
        authProvider={authProvider}
        i18nProvider={i18nProvider}
        theme={lightTheme}
        darkTheme={darkTheme}
        layout={ConsoleLayout}
        notification={AdminNotices}
        dashboard={OverviewPage}
        catchAll={UnknownPage}
        disableTelemetry
        requireAuth
      >
        {declared.resources.map((resource) => (
          <Resource
            key={resource.path}
            name={resource.path}
            icon={iconOf(resource.name)}
            options={{ label: capitalized(resource.plural) }}
            recordRepresentation={(record) => record.Name ?? `#${record.id}`}
            list={<RecordTable resource={resource} />}
            hasCreate
            hasEdit
          />
        ))}
        <CustomRoutes>
          {listPages(session).map(([name, content]) => (
            <Route key={name} path={`/${name}`} element={content} />
          ))}
        </CustomRoutes>
      </Admin>
    </SiteContext>
  );
}

/** Milliseconds before a failed read is repeated. */
const retryDelayMs = 1000;

/**
 * Creates the cache of a page's reads. A read is repeated once if the server could not be reached or failed (5xx), but not if it was rejected
 * (4xx).
 */
function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        retry: (failures, error) => failures < 1 && isOfServer(error),
        retryDelay: retryDelayMs,
      },
    },
  });
}

function isOfServer(error: Error): boolean {
  const { status = 0 } = error as { readonly status?: number };
  return status === 0 || status >= 500;
}
