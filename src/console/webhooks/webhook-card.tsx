// A webhook's card: its state with the reason of the last failure, its latest deliveries, and its actions.

import { Alert, Box, Button, Card, CardActions, CardContent, Chip, Collapse, Stack, Typography } from "@mui/material";
import { useState } from "react";
import type { ListedWebhookInfo } from "../../admin/api/types.ts";
import { nameOfActor } from "../history/description.tsx";
import { ActionMenu } from "../shell/action-menu.tsx";
import { pluralOf, useCan, useDeclared } from "../shell/site-context.ts";
import { capitalize, toNumber } from "../text/locale.ts";
import { localizeTimes, toTimeOfDay, When } from "../text/times.tsx";
import { toSentence, translate } from "../text/translate.ts";
import { Deliveries } from "./deliveries.tsx";
import { isRetried } from "./webhooks.ts";

export type WebhookTask = "test" | "retry" | "change" | "pause" | "resume" | "rewind" | "rotate" | "remove";

const colors = { active: "success", failing: "error", paused: "default", incomplete: "warning" } as const;

interface WebhookCardProps {
  readonly webhook: ListedWebhookInfo;
  readonly onTask: (task: WebhookTask) => void;
}

export function WebhookCard({ webhook, onTask }: WebhookCardProps) {
  const [isOpen, setOpen] = useState(false);
  const canChange = useCan("settings");
  const { id, url, status } = webhook;
  return (
    <Card component="article" aria-label={url}>
      <CardContent sx={{ pb: 1 }}>
        <Stack direction="row" spacing={2} sx={{ justifyContent: "space-between", alignItems: "flex-start" }}>
          <Typography component="h2" variant="body1" sx={{ fontWeight: 600, overflowWrap: "anywhere" }}>
            {url}
          </Typography>
          <Chip variant="outlined" color={colors[status]} label={translate(`webhooks.${status}`)} />
        </Stack>
        <Facts webhook={webhook} />
        <State webhook={webhook} onTask={canChange ? onTask : undefined} />
        <Collapse in={isOpen} unmountOnExit>
          <Box sx={{ mt: 2 }}>
            <Deliveries id={id} />
          </Box>
        </Collapse>
      </CardContent>
      <CardActions sx={{ flexWrap: "wrap", px: 2, pt: 0.5, pb: 2 }}>
        <Button size="small" variant="outlined" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
          {translate("webhooks.deliveries")}
        </Button>
        {canChange && <Actions webhook={webhook} onTask={onTask} />}
      </CardActions>
    </Card>
  );
}

function Actions({ webhook: { url, status }, onTask }: WebhookCardProps) {
  // If it's paused, the button that resumes it is next to the reason instead.
  const pause: WebhookTask[] = status === "paused" ? [] : ["pause"];
  const rare: WebhookTask[] = ["change", ...pause, "rewind", "rotate", "remove"];
  return (
    <>
      <Button size="small" variant="outlined" onClick={() => onTask("test")}>
        {translate("webhooks.test")}
      </Button>
      <ActionMenu
        label={translate("general.actions_for", { name: url })}
        actions={rare}
        textOf={(task) => translate(`webhooks.${task}`)}
        dangerous="remove"
        onChoose={onTask}
      />
    </>
  );
}

/** A webhook's resources, how many changes are queued, which key made it, and its last attempt. */
function Facts({
  webhook: { resources, behind, behindIsMinimum, last, key },
}: {
  readonly webhook: ListedWebhookInfo;
}) {
  const declared = useDeclared();
  const lag =
    behind === null
      ? translate("webhooks.behind_unknown")
      : behind === 0 && !behindIsMinimum
        ? translate("webhooks.up_to_date")
        : translate(behindIsMinimum ? "webhooks.behind_minimum" : "webhooks.behind_changes", {
            smart_count: behind,
            count: toNumber(behind),
          });
  const names = resources.map((path) => pluralOf(declared.resources, path));
  const what =
    names.length === 0
      ? translate("webhooks.all_resources")
      : capitalize(translate("webhooks.some_resources", { names: names.join(", ") }));
  return (
    <Typography variant="body2" color="textSecondary" component="div" sx={{ mt: 0.5 }}>
      {what} · {lag}
      {key && ` · ${translate("webhooks.made_by", { key })}`}
      {last && (
        <>
          {" · "}
          {translate("webhooks.last")} <When at={last.at} />
        </>
      )}
    </Typography>
  );
}

interface StateProps {
  readonly webhook: ListedWebhookInfo;
  /** Undefined if the operator can't change webhooks. */
  readonly onTask: ((task: WebhookTask) => void) | undefined;
}

/** Why a webhook isn't delivering, what happens next, and the action that helps. Shows nothing if it's working. */
function State({ webhook, onTask }: StateProps) {
  const { status, detail, reason, nextAt, paused, pausedBy } = webhook;
  if (status === "active") return null;
  const isTrying = isRetried(webhook);
  const task = status === "failing" ? "retry" : status === "paused" ? "resume" : undefined;
  const button = onTask && task && (
    <Button color="inherit" variant="outlined" size="small" disabled={isTrying} onClick={() => onTask(task)}>
      {translate(isTrying ? "webhooks.trying" : `webhooks.${task}`)}
    </Button>
  );
  const isPaused = status === "paused" && paused !== null;
  const failing = `${translate("webhooks.failing")} ${localizeTimes(detail)}`;
  // The detail names a key or what went wrong, but not the operator.
  const by = pausedBy?.includes(":")
    ? translate("webhooks.paused_by", { name: nameOfActor({ actor: pausedBy, actorLabel: null }) })
    : capitalize(detail);
  const since = status === "failing" ? failing : isPaused ? by : toSentence(detail);
  return (
    <Alert
      severity={status === "failing" ? "error" : "warning"}
      action={button}
      sx={{ mt: 1, overflowWrap: "anywhere" }}
    >
      {reason && <Box sx={{ fontWeight: 600 }}>{toSentence(reason)}</Box>}
      {toSentence(detail) !== toSentence(reason ?? "") && since}
      {status === "failing" && nextAt && !isTrying && (
        <>
          {" · "}
          {translate("webhooks.next_try")} {toTimeOfDay(nextAt)}
        </>
      )}
      {isPaused && (
        <>
          {" · "}
          <When at={paused} />
        </>
      )}
    </Alert>
  );
}
