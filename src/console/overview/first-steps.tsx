import DoneIcon from "@mui/icons-material/CheckCircle";
import TodoIcon from "@mui/icons-material/RadioButtonUnchecked";
import { Button, Card, CardContent, List, ListItem, ListItemText, Typography } from "@mui/material";
import { useTranslate } from "react-admin";
import { Link } from "react-router-dom";
import type { OverviewResponse } from "../../admin/api/types.ts";
import { useSite } from "../frame/site-context.ts";

/** Lists the first steps for a shop without records. */
export function FirstSteps({ overview: { records, validKeys, webhooks } }: { readonly overview: OverviewResponse }) {
  const translate = useTranslate();
  const site = useSite();
  if (Object.values(records).some((count) => count > 0)) return null;
  const steps = [
    { name: "records", to: `/${site}/import`, isDone: false },
    { name: "key", to: `/${site}/keys`, isDone: validKeys > 0 },
    { name: "webhook", to: `/${site}/webhooks`, isDone: webhooks.length > 0 },
  ];
  return (
    <Card sx={{ mb: 2 }}>
      <CardContent sx={{ pb: 0 }}>
        <Typography component="h2" variant="h6">
          {translate("overview.first_steps")}
        </Typography>
      </CardContent>
      <List>
        {steps.map(({ name, to, isDone }) => (
          <ListItem key={name} sx={{ gap: 1.5 }}>
            {isDone ? <DoneIcon color="success" /> : <TodoIcon color="disabled" />}
            <ListItemText
              primary={translate(`overview.step_${name}`)}
              secondary={translate(`overview.step_${name}_explain`)}
            />
            <Button component={Link} to={to} variant="outlined" size="small" sx={{ flexShrink: 0 }}>
              {translate(`overview.step_${name}_action`)}
            </Button>
          </ListItem>
        ))}
      </List>
    </Card>
  );
}
