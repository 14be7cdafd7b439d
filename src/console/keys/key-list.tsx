// The list of a site's keys: a table, or on a narrow page a card for each key.

import {
  Button,
  Card,
  CardActions,
  CardContent,
  Chip,
  Stack,
  Table,
  TableBody,
  TableCell,
  TableContainer,
  TableHead,
  TableRow,
  Typography,
} from "@mui/material";
import type { ReactNode } from "react";
import type { ListedKeyInfo } from "../../admin/api/types.ts";
import { showInvisible } from "../text/show-invisible.ts";
import { toDay } from "../text/times.ts";
import { translate } from "../text/translate.ts";
import { When } from "../text/when.tsx";
import type { KeyTask } from "./keys.ts";

interface KeyListProps {
  readonly keys: readonly ListedKeyInfo[];
  readonly onTask: (task: KeyTask, apiKey: ListedKeyInfo) => void;
}

export function KeyTable({ keys, onTask }: KeyListProps) {
  const columns = ["label", ...factNames, "state"] as const;
  return (
    <TableContainer component={Card}>
      <Table size="small">
        <TableHead>
          <TableRow>
            {columns.map((name) => (
              <TableCell key={name} sx={{ whiteSpace: "nowrap", px: { md: 1.25, lg: 1.5 } }}>
                {translate(`keys.${name}`)}
              </TableCell>
            ))}
            <TableCell component="td" />
          </TableRow>
        </TableHead>
        <TableBody>
          {keys.map((apiKey) => (
            <KeyRow key={apiKey.id} apiKey={apiKey} onTask={onTask} />
          ))}
        </TableBody>
      </Table>
    </TableContainer>
  );
}

interface KeyProps {
  readonly apiKey: ListedKeyInfo;
  readonly onTask: KeyListProps["onTask"];
}

/** The colour of a key: paler if it has expired or was revoked. */
const colorOf = ({ state }: ListedKeyInfo) => (state === "valid" ? "text.primary" : "text.secondary");

function KeyRow({ apiKey, onTask }: KeyProps) {
  const facts = toKeyFacts(apiKey);
  return (
    <TableRow hover sx={{ "& > td": { color: colorOf(apiKey), whiteSpace: "nowrap", px: { md: 1.25, lg: 1.5 } } }}>
      <TableCell style={{ whiteSpace: "normal", minWidth: 130 }}>
        <KeyName apiKey={apiKey} />
      </TableCell>
      {factNames.map((name) => (
        <TableCell key={name}>{facts[name]}</TableCell>
      ))}
      <TableCell>
        <KeyState apiKey={apiKey} />
      </TableCell>
      <TableCell align="right">
        <KeyButtons apiKey={apiKey} onTask={onTask} />
      </TableCell>
    </TableRow>
  );
}

/** The label of a key, and below it the prefix. */
function KeyName({ apiKey: { label, prefix } }: Pick<KeyProps, "apiKey">) {
  return (
    <>
      {label && (
        <Typography variant="body2" component="div" sx={{ fontWeight: 600, overflowWrap: "anywhere" }}>
          {showInvisible(label)}
        </Typography>
      )}
      <Typography variant="body2" component="code" sx={{ fontFamily: "monospace", color: "text.secondary" }}>
        {prefix}…
      </Typography>
    </>
  );
}

/** The keys as cards, for a narrow page. */
export function KeyCards({ keys, onTask }: KeyListProps) {
  return (
    <Stack spacing={1.5}>
      {keys.map((apiKey) => (
        <KeyCard key={apiKey.id} apiKey={apiKey} onTask={onTask} />
      ))}
    </Stack>
  );
}

function KeyCard({ apiKey, onTask }: KeyProps) {
  const facts = toKeyFacts(apiKey);
  return (
    <Card component="article" aria-label={apiKey.label || apiKey.prefix}>
      <CardContent sx={{ pb: 1, color: colorOf(apiKey) }}>
        <Stack direction="row" spacing={1} sx={{ mb: 1, justifyContent: "space-between", alignItems: "flex-start" }}>
          <div>
            <KeyName apiKey={apiKey} />
          </div>
          <KeyState apiKey={apiKey} />
        </Stack>
        {factNames.map((name) => (
          <Stack key={name} direction="row" sx={{ justifyContent: "space-between" }}>
            <Typography variant="body2" color="textSecondary">
              {translate(`keys.${name}`)}
            </Typography>
            <Typography variant="body2">{facts[name]}</Typography>
          </Stack>
        ))}
      </CardContent>
      {apiKey.state === "valid" && (
        <CardActions>
          <KeyButtons apiKey={apiKey} onTask={onTask} />
        </CardActions>
      )}
    </Card>
  );
}

const colors = { valid: "success", expired: "default", revoked: "default" } as const;

function KeyState({ apiKey }: Pick<KeyProps, "apiKey">) {
  const isEnding = apiKey.endsSoon;
  const color = isEnding ? "warning" : colors[apiKey.state];
  const label = translate(isEnding ? "keys.ending" : `keys.${apiKey.state}`);
  return <Chip size="small" variant="outlined" color={color} label={label} />;
}

const tasks: readonly KeyTask[] = ["edit", "rotate", "revoke"];

/** Buttons for the actions on a key; none for a key that has expired or was revoked. */
function KeyButtons({ apiKey, onTask }: KeyProps) {
  if (apiKey.state !== "valid") return null;
  return tasks.map((task) => (
    <Button
      key={task}
      size="small"
      color={task === "revoke" ? "error" : "primary"}
      onClick={() => onTask(task, apiKey)}
      aria-label={`${translate(`keys.${task}`)} ${apiKey.prefix}`}
    >
      {translate(`keys.${task}`)}
    </Button>
  ));
}

const factNames = ["scope", "limit", "expires", "last_used"] as const;

/** Returns the facts about a key that are shown beside its name. */
function toKeyFacts({
  scope,
  rate,
  expires,
  lastUsed,
}: ListedKeyInfo): Readonly<Record<(typeof factNames)[number], ReactNode>> {
  return {
    scope: translate(`keys.${scope}`),
    limit: rate ? translate("keys.per_second", { count: rate }) : translate("keys.rate_default"),
    expires: expires ? toDay(expires) : translate("keys.never"),
    last_used: lastUsed ? <When at={lastUsed} /> : translate("keys.never"),
  };
}
