// Connects the pages of records with react-admin, until they no longer need it.

import { useQueryClient } from "@tanstack/react-query";
import polyglotI18nProvider from "ra-i18n-polyglot";
import englishMessages from "ra-language-english";
import { useEffect, useMemo } from "react";
import {
  CoreAdminContext,
  memoryStore,
  ResourceContextProvider,
  ResourceDefinitionContextProvider,
  useNotificationContext,
} from "react-admin";
import { Router } from "react-router-dom";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { createDataProvider } from "../api/data-provider.ts";
import { RecordTable } from "../records/record-table.tsx";
import { reportWrite, useNotify } from "../shell/notices.tsx";
import { useLocation, useNavigate } from "../shell/router.tsx";
import { useDeclared, useSiteName } from "../shell/site-context.ts";

const messages = {
  ra: {
    ...englishMessages.ra,
    notification: {
      ...englishMessages.ra.notification,
      http_error: "The server cannot be reached at the moment. Nothing that you have typed is lost: try again.",
      item_doesnt_exist: "This record does not exist. It may have been deleted.",
    },
    sort: { ...englishMessages.ra.sort, sort_by: "Sort by %{field}, %{order}" },
  },
};

const i18nProvider = polyglotI18nProvider(() => messages, "en", [{ locale: "en", name: "English" }], {
  allowMissing: true,
});

interface To {
  readonly pathname?: string;
  readonly search?: string;
}
const toText = (to: string | To) => (typeof to === "string" ? to : `${to.pathname ?? ""}${to.search ?? ""}`);

/** The list of a resource's records, with what react-admin's components need. */
export function ReactAdminRecords({ resource }: { readonly resource: ResourceInfo }) {
  const siteName = useSiteName();
  const { maxSearchLength, resources } = useDeclared();
  const location = useLocation();
  const navigate = useNavigate();
  const dataProvider = useMemo(
    () => createDataProvider(siteName, maxSearchLength, reportWrite),
    [siteName, maxSearchLength],
  );
  const store = useMemo(() => memoryStore(), []);
  const navigator = useMemo(
    () => ({
      createHref: (to: string | To) => `#${toText(to)}`,
      push: (to: string | To) => navigate(toText(to)),
      replace: (to: string | To) => navigate(toText(to), { replace: true }),
      go: (distance: number) => history.go(distance),
    }),
    [navigate],
  );
  const definitions = Object.fromEntries(
    resources.map(({ path }) => [path, { name: path, hasList: true, hasEdit: true, hasCreate: true }]),
  );
  return (
    <Router location={location} navigator={navigator}>
      <CoreAdminContext
        basename={`/${siteName}`}
        dataProvider={dataProvider}
        store={store}
        queryClient={useQueryClient()}
        i18nProvider={i18nProvider}
      >
        <ResourceDefinitionContextProvider definitions={definitions}>
          <ResourceContextProvider value={resource.path}>
            <RecordTable resource={resource} />
            <Notified />
          </ResourceContextProvider>
        </ResourceDefinitionContextProvider>
      </CoreAdminContext>
    </Router>
  );
}

/** Shows the notifications of react-admin's components as notices. */
function Notified() {
  const { notifications, setNotifications } = useNotificationContext();
  const notify = useNotify();
  useEffect(() => {
    if (notifications.length === 0) return;
    for (const { message, type } of notifications)
      notify(String(i18nProvider.translate(String(message), { _: String(message) })), type as "info");
    setNotifications([]);
  }, [notifications, setNotifications, notify]);
  return null;
}
