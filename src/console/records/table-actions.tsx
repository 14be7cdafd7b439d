import AddIcon from "@mui/icons-material/Add";
import ImportIcon from "@mui/icons-material/ImportExport";
import { Box, Button, Stack } from "@mui/material";
import { useListContext, useTranslate } from "react-admin";
import { Link } from "react-router-dom";
import type { ResourceInfo } from "../../admin/api/types.ts";
import { useSite } from "../frame/site-context.ts";
import { PhoneTitle } from "../shell/page.tsx";
import { useIsNarrow } from "../shell/use-is-narrow.ts";
import { ColumnsMenu } from "./columns-menu.tsx";

/** The buttons above a list of records. */
export function TableActions({ resource }: { readonly resource: ResourceInfo }) {
  const { path, singular } = resource;
  const translate = useTranslate();
  const site = useSite();
  const { total, defaultTitle } = useListContext();
  const isNarrow = useIsNarrow();
  return (
    <Stack
      direction="row"
      useFlexGap
      spacing={1}
      sx={{
        minHeight: 48,
        width: { xs: "100%", sm: "auto" },
        alignItems: "center",
        flexWrap: { xs: "wrap", lg: "nowrap" },
        justifyContent: "flex-end",
      }}
    >
      <PhoneTitle title={String(defaultTitle)} />
      <Box sx={{ flexGrow: 1 }} />
      {!isNarrow && (
        <>
          <Button component={Link} to={`/${site}/import?resource=${path}`} size="small" startIcon={<ImportIcon />}>
            {translate("record.import")}
          </Button>
          {total !== 0 && <ColumnsMenu resource={resource} />}
        </>
      )}
      <Button
        component={Link}
        to={`/${site}/${path}/create`}
        variant="contained"
        data-shortcut="new"
        startIcon={<AddIcon />}
      >
        {translate("record.new", { name: singular })}
      </Button>
    </Stack>
  );
}
