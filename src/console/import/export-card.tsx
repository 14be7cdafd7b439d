import DownloadIcon from "@mui/icons-material/Download";
import { Button, Card, CardContent, Stack, Typography } from "@mui/material";
import { useState } from "react";
import { useTranslate } from "react-admin";
import { useSite } from "../frame/site-context.ts";
import { exportUrl } from "./imports.ts";
import { ResourceChoice, useFirstResource } from "./resource-choice.tsx";

const formats = ["csv", "json", "xml"];

/** A card that exports all records of a resource as a file. */
export function ExportCard() {
  const translate = useTranslate();
  const site = useSite();
  const [resource, setResource] = useState(useFirstResource());
  return (
    <Card>
      <CardContent>
        <Stack spacing={2}>
          <Typography variant="h6" component="h2">
            {translate("import.export_title")}
          </Typography>
          <Typography color="textSecondary">{translate("import.export_explain")}</Typography>
          <ResourceChoice value={resource} onChange={setResource} />
          <Stack direction="row" spacing={1} useFlexGap sx={{ flexWrap: "wrap" }}>
            {formats.map((format) => (
              <Button
                key={format}
                variant="outlined"
                component="a"
                href={exportUrl(site, resource, format)}
                download
                startIcon={<DownloadIcon />}
                aria-label={translate("import.export_as", { format: format.toUpperCase() })}
              >
                {format.toUpperCase()}
              </Button>
            ))}
          </Stack>
        </Stack>
      </CardContent>
    </Card>
  );
}
