import { Button } from "@mui/material";
import { useListContext, useTranslate } from "react-admin";
import { Link } from "react-router-dom";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { iconOf } from "../frame/icons.ts";
import { useDeclared, useSite } from "../frame/site-context.ts";
import { Empty } from "../shell/empty.tsx";
import { visible } from "../text/visible.ts";

/** The placeholder of a list without records, or without records that match the search. */
export function NoRecords({ resource: { name, path, plural, singular } }: { readonly resource: ResourceInfo }) {
  const translate = useTranslate();
  const site = useSite();
  const { maxSearchLength } = useDeclared();
  const { filterValues, setFilters } = useListContext();
  const text: string | undefined = filterValues.q;
  if (text) {
    return (
      <Empty
        icon={iconOf(name)}
        title={translate("record.none_found", { name: plural, text: visible(text.slice(0, maxSearchLength)) })}
        explain={translate("record.none_found_explain")}
      >
        <Button variant="outlined" onClick={() => setFilters({})}>
          {translate("record.clear")}
        </Button>
      </Empty>
    );
  }
  return (
    <Empty
      icon={iconOf(name)}
      title={translate("record.none", { name: plural })}
      explain={translate("record.none_explain")}
    >
      <Button component={Link} to={`/${site}/${path}/create`} variant="contained">
        {translate("record.new", { name: singular })}
      </Button>
      <Button component={Link} to={`/${site}/import?resource=${path}`} variant="outlined">
        {translate("import.step_run")}
      </Button>
    </Empty>
  );
}
