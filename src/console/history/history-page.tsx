// The page of the history: what changed in the shop, when, and by whom.

import DownloadIcon from "@mui/icons-material/Download";
import { Button, Card } from "@mui/material";
import { Page } from "../shell/page.tsx";
import { useSiteName } from "../shell/site-context.ts";
import { translate } from "../text/translate.ts";
import { historyFileUrl } from "./history.ts";
import { Filters, useFilters } from "./history-filters.tsx";
import { HistoryList } from "./history-list.tsx";

/** The page with the history of a shop, limited by the filters in the address. */
export function HistoryPage() {
  const siteName = useSiteName();
  const { chosen, filter, set, clear } = useFilters();
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <Page
      title={translate("history.title")}
      explain={translate("history.explain")}
      actions={
        <Button
          variant="outlined"
          component="a"
          href={historyFileUrl(siteName, filter)}
          download
          startIcon={<DownloadIcon />}
          title={translate("history.export_explain")}
        >
          {translate("history.export")}
        </Button>
      }
    >
      <Filters chosen={chosen} set={set} clear={clear} />
      <Card>
        <HistoryList
          key={JSON.stringify(filter)}
          filter={filter}
          isOfRecord={chosen.id !== ""}
          hasDays
          onClear={isFiltered ? clear : undefined}
        />
      </Card>
    </Page>
  );
}
