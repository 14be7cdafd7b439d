// The page of an operator who has no site yet: a form for the first site, or for an operator who may not add sites, whom to ask.

import { Alert, Button, Stack } from "@mui/material";
import { type FormEvent, useState } from "react";
import type { NewSiteResponse, SessionInfo } from "../../admin/api/types.ts";
import { NewSecret } from "../shell/new-secret.tsx";
import { PlainPage } from "../shell/plain-page.tsx";
import { useEdited, useUnsaved } from "../shell/unsaved.ts";
import { translate } from "../text/translate.ts";
import { type NewSiteText, SiteFields, toNewSite } from "./site-form.tsx";
import { addSite } from "./sites.ts";

interface FirstSiteProps {
  readonly session: SessionInfo;
  /** Reads the sites again. */
  readonly reload: () => Promise<void>;
}

/** The page that is shown until a site exists. */
export function FirstSite({ session, reload }: FirstSiteProps) {
  if (session.sites !== null || !session.rights.includes("settings"))
    return <PlainPage title={translate("app.title")} detail={translate("sites.first_other")} />;
  return (
    <PlainPage title={translate("sites.first_title")} detail={translate("sites.first_explain")}>
      <FirstSiteForm reload={reload} />
    </PlainPage>
  );
}

function FirstSiteForm({ reload }: Pick<FirstSiteProps, "reload">) {
  const [values, setValues] = useState<NewSiteText>({ name: "", hostnames: "", isDefault: true, withKey: true });
  const [added, setAdded] = useState<NewSiteResponse>();
  const [fault, setFault] = useState("");
  useUnsaved(useEdited(values) && !added);

  async function submit(event: FormEvent) {
    event.preventDefault();
    try {
      const result = await addSite(toNewSite(values));
      if (result.key) setAdded(result);
      else await reload();
    } catch (error) {
      setFault((error as Error).message);
    }
  }

  if (added?.key) {
    const title = translate("sites.created", { name: added.site.name });
    return (
      <NewSecret
        title={title}
        explain={translate("keys.shown_once")}
        secrets={{ [translate("keys.key")]: added.key }}
        onClose={() => void reload()}
      />
    );
  }
  return (
    <Stack component="form" onSubmit={submit} spacing={2}>
      <SiteFields values={values} onChange={setValues} isNew hasDefault />
      {fault && <Alert severity="error">{fault}</Alert>}
      <Button type="submit" variant="contained">
        {translate("general.create")}
      </Button>
    </Stack>
  );
}
