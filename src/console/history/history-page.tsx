// The history page: what changed in the site, when, and by whom.

import { Button, Card, Chip } from "@mui/material";
import { DownloadIcon } from "../shell/icons.tsx";
import { Page } from "../shell/page.tsx";
import { singularOf, useDeclared } from "../shell/site-context.ts";
import { capitalize, toNumber } from "../text/locale.ts";
import { translate } from "../text/translate.ts";
import { toInstants } from "./days.ts";
import { FilterBar, PersonChoice, useFilters } from "./filters.tsx";
import { type HistoryFilter, useHistory, useHistoryFile } from "./history.ts";
import { HistoryList } from "./history-list.tsx";

const kinds = ["create", "update", "delete"] as const;

export function HistoryPage() {
  const { resources } = useDeclared();
  const filters = useFilters(["from", "to", "resource", "kind", "by", "id"], {
    resource: resources.map(({ path }) => path),
    kind: kinds,
  });
  const { chosen, set, clear } = filters;
  const { resource, by } = chosen;
  const id = resource && /^[1-9][0-9]{0,14}$/.test(chosen.id) ? chosen.id : "";
  const filter: HistoryFilter = {
    ...toInstants(chosen),
    ...(resource ? { resource } : {}),
    ...(chosen.kind ? { kind: chosen.kind } : {}),
    ...(by ? { actor: by } : {}),
    ...(id ? { id: Number(id) } : {}),
  };
  const file = useHistoryFile(filter);
  const { entries } = useHistory({}, 0);
  return (
    <Page
      title={translate("history.title")}
      explain={translate("history.explain")}
      actions={
        <Button
          variant="outlined"
          disabled={file.changes !== undefined}
          onClick={file.save}
          startIcon={<DownloadIcon />}
          title={translate("history.export_explain")}
        >
          {file.changes === undefined
            ? translate("history.export")
            : translate("history.exporting", { count: toNumber(file.changes) })}
        </Button>
      }
    >
      <FilterBar
        // A record's ID belongs to its resource.
        filters={{
          ...filters,
          set: (changes) => set(changes.resource === undefined ? changes : { ...changes, id: "" }),
        }}
        choices={[
          {
            name: "resource",
            label: translate("history.resource"),
            any: translate("webhooks.all_resources"),
            options: resources.map(({ path, plural }) => [path, capitalize(plural)]),
          },
          {
            name: "kind",
            label: translate("history.kind"),
            any: translate("history.all_kinds"),
            options: kinds.map((name) => [name, translate(`history.kind_${name}`)]),
          },
        ]}
      >
        <PersonChoice {...filters} entries={entries} />
        {id && (
          <Chip
            label={translate("history.one_record", { resource: capitalize(singularOf(resources, resource)), id })}
            onDelete={() => set({ id: "" })}
          />
        )}
      </FilterBar>
      <Card>
        <HistoryList key={JSON.stringify(filter)} filter={filter} isOfRecord={id !== ""} hasDays clear={clear} />
      </Card>
    </Page>
  );
}
