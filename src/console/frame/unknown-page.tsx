// The pages for addresses that do not exist: of a site, and in a site.

import { Button, Stack, Typography } from "@mui/material";
import { Link, useNavigate } from "react-router-dom";
import { useDocumentTitle } from "../shell/page-title.tsx";
import { PlainPage } from "../shell/plain-page.tsx";
import { useSiteName } from "../shell/site-context.ts";
import { translate } from "../text/translate.ts";

/** The page for an unknown site, or a site of other operators. @param first name of the site to link to */
export function UnknownSite({ siteName, first }: { readonly siteName: string; readonly first: string }) {
  const navigate = useNavigate();
  return (
    <PlainPage
      title={translate("app.unknown_page")}
      detail={translate("app.unknown_site", { name: siteName })}
      action={translate("app.to_overview")}
      onAction={() => navigate(`/${first}`)}
    />
  );
}

/** The page for an unknown address in a site. */
export function UnknownPage() {
  const siteName = useSiteName();
  useDocumentTitle(translate("app.unknown_page"));
  return (
    <Stack spacing={2} sx={{ mt: 6, alignItems: "center", textAlign: "center" }}>
      <Typography component="h1" variant="h6">
        {translate("app.unknown_page")}
      </Typography>
      <Typography color="textSecondary">{translate("app.unknown_page_detail")}</Typography>
      <Button component={Link} to={`/${siteName}`} variant="contained">
        {translate("app.to_overview")}
      </Button>
    </Stack>
  );
}
