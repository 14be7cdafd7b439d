// A webhook on its page: its state, its last deliveries, and buttons for its actions.

import { Box, Button, Card, CardActions, CardContent, Chip, Collapse, Stack, Typography } from "@mui/material";
import { useState } from "react";
import type { WebhookInfo } from "../../admin/api/types.ts";
import { ActionMenu } from "../shell/action-menu.tsx";
import { capitalized, toNumber } from "../text/locale.ts";
import { withMoments } from "../text/times.ts";
import { translate } from "../text/translate.ts";
import { When } from "../text/when.tsx";
import { Deliveries } from "./deliveries.tsx";

/** The actions on a webhook. */
export type WebhookTask = "test" | "pause" | "resume" | "rewind" | "rotate" | "remove";

const colors = { active: "success", failing: "error", paused: "default", incomplete: "warning" } as const;

interface WebhookCardProps {
  readonly webhook: WebhookInfo;
  readonly onTask: (task: WebhookTask) => void;
}

/** A card for a webhook, with its state and its actions. */
export function WebhookCard({ webhook, onTask }: WebhookCardProps) {
  const [isOpen, setOpen] = useState(false);
  const { id, url, status } = webhook;
  const tasks: WebhookTask[] = ["test", status === "paused" ? "resume" : "pause"];
  const rare: WebhookTask[] = ["rewind", "rotate", "remove"];
  return (
    <Card component="article" aria-label={url}>
      <CardContent sx={{ pb: 1 }}>
        <Stack direction="row" spacing={2} sx={{ justifyContent: "space-between", alignItems: "flex-start" }}>
          <Typography
            component="h2"
            variant="body1"
            sx={{ fontWeight: 600, overflowWrap: "anywhere", fontSize: { xs: 14, sm: 16 } }}
          >
            {url}
          </Typography>
          <Chip size="small" variant="outlined" color={colors[status]} label={translate(`webhooks.${status}`)} />
        </Stack>
        <Facts webhook={webhook} />
        <Collapse in={isOpen} unmountOnExit>
          <Box sx={{ mt: 2 }}>
            <Deliveries id={id} />
          </Box>
        </Collapse>
      </CardContent>
      <CardActions sx={{ flexWrap: "wrap" }}>
        <Button size="small" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
          {translate("webhooks.deliveries")}
        </Button>
        {tasks.map((task) => (
          <Button key={task} size="small" onClick={() => onTask(task)}>
            {translate(`webhooks.${task}`)}
          </Button>
        ))}
        <ActionMenu
          label={`${translate("general.more")}: ${url}`}
          actions={rare.map((task) => ({
            name: task,
            text: translate(`webhooks.${task}`),
            isDangerous: task === "remove",
            onChoose: () => onTask(task),
          }))}
        />
      </CardActions>
    </Card>
  );
}

/** Shows the resources of a webhook, the number of changes that it is behind, and its error. */
function Facts({ webhook: { resources, behind, status, detail, nextAt } }: { readonly webhook: WebhookInfo }) {
  const lag =
    behind === null
      ? translate("webhooks.behind_unknown")
      : behind === 0
        ? translate("webhooks.up_to_date")
        : translate("webhooks.behind_changes", { smart_count: behind, count: toNumber(behind) });
  const what =
    resources.length === 0
      ? translate("webhooks.all_resources")
      : translate("webhooks.some_resources", { names: resources.join(", ") });
  return (
    <Typography variant="body2" color="textSecondary" component="div" sx={{ mt: 0.5 }}>
      <div>
        {what} · {lag}
      </div>
      {detail && (
        <Box sx={{ color: status === "failing" ? "error.main" : "inherit", overflowWrap: "anywhere" }}>
          {status === "failing" ? `${translate("webhooks.failing")} ${withMoments(detail)}` : capitalized(detail)}
          {status === "failing" && nextAt && (
            <>
              {" · "}
              {translate("webhooks.next_try")} <When at={nextAt} />
            </>
          )}
        </Box>
      )}
    </Typography>
  );
}
