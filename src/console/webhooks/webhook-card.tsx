import { Box, Button, Card, CardActions, CardContent, Chip, Collapse, Stack, Typography } from "@mui/material";
import { useState } from "react";
import { useTranslate } from "react-admin";
import { toMoment, withMoments } from "../times.ts";
import { Deliveries } from "./deliveries.tsx";
import type { Webhook } from "./webhooks.ts";

export type WebhookTask = "test" | "pause" | "resume" | "rewind" | "rotate" | "remove";

const colors = { active: "success", failing: "error", paused: "default", incomplete: "warning" } as const;

interface WebhookCardProps {
  readonly webhook: Webhook;
  readonly onTask: (task: WebhookTask) => void;
}

/** A webhook: where it is, and what can be done with it. */
export function WebhookCard({ webhook, onTask }: WebhookCardProps) {
  const translate = useTranslate();
  const [isOpen, setOpen] = useState(false);
  const { id, url, status, detail, nextAt } = webhook;
  const tasks: WebhookTask[] = ["test", status === "paused" ? "resume" : "pause", "rewind", "rotate", "remove"];
  return (
    <Card component="article" aria-label={url}>
      <CardContent>
        <Stack direction="row" spacing={1} sx={{ alignItems: "center", flexWrap: "wrap" }}>
          <Chip size="small" variant="outlined" color={colors[status]} label={translate(`webhooks.${status}`)} />
          <Typography component="h2" variant="subtitle1" sx={{ overflowWrap: "anywhere" }}>
            {url}
          </Typography>
        </Stack>
        {detail && <Typography color="textSecondary">{withMoments(detail)}</Typography>}
        {status === "failing" && nextAt && (
          <Typography color="textSecondary">{translate("webhooks.next_try", { time: toMoment(nextAt) })}</Typography>
        )}
        <Facts webhook={webhook} />
        <Collapse in={isOpen} unmountOnExit>
          <Box sx={{ mt: 1 }}>
            <Deliveries id={id} />
          </Box>
        </Collapse>
      </CardContent>
      <CardActions sx={{ flexWrap: "wrap" }}>
        <Button size="small" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
          {translate("webhooks.deliveries")}
        </Button>
        {tasks.map((task) => (
          <Button key={task} size="small" color={task === "remove" ? "error" : "primary"} onClick={() => onTask(task)}>
            {translate(`webhooks.${task}`)}
          </Button>
        ))}
      </CardActions>
    </Card>
  );
}

function Facts({ webhook: { resources, behind } }: { readonly webhook: Webhook }) {
  const translate = useTranslate();
  const lag =
    behind === null
      ? translate("webhooks.behind_unknown")
      : behind === 0
        ? translate("webhooks.up_to_date")
        : translate("webhooks.behind_changes", { smart_count: behind });
  return (
    <Typography variant="body2" sx={{ mt: 1 }}>
      {translate("webhooks.resources")}:{" "}
      {resources.length === 0 ? translate("webhooks.all_resources") : resources.join(", ")} ·{" "}
      {translate("webhooks.behind")}: {lag}
    </Typography>
  );
}
