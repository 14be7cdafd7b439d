// The keys of a site: a table, or on a phone a card for each.

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
import { useTranslate } from "react-admin";
import { toDay, toMoment } from "../times.ts";
import type { ApiKey, KeyTask } from "./keys.ts";

interface KeyListProps {
  readonly keys: readonly ApiKey[];
  readonly onTask: (task: KeyTask, apiKey: ApiKey) => void;
}

export function KeyTable({ keys, onTask }: KeyListProps) {
  const translate = useTranslate();
  const columns = ["label", "key", "scope", "rate", "expires", "last_used", "state", "actions"];
  return (
    <TableContainer component={Card}>
      <Table size="small">
        <TableHead>
          <TableRow>
            {columns.map((name) => (
              <TableCell key={name}>{translate(`keys.${name}`)}</TableCell>
            ))}
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
  readonly apiKey: ApiKey;
  readonly onTask: KeyListProps["onTask"];
}

function KeyRow({ apiKey, onTask }: KeyProps) {
  const { label, prefix, rate, scope, expires, lastUsed } = useKeyTexts(apiKey);
  return (
    <TableRow hover>
      <TableCell sx={{ overflowWrap: "anywhere" }}>{label}</TableCell>
      <TableCell>
        <code>{prefix}</code>
      </TableCell>
      <TableCell>{scope}</TableCell>
      <TableCell>{rate}</TableCell>
      <TableCell>{expires}</TableCell>
      <TableCell>{lastUsed}</TableCell>
      <TableCell>
        <KeyState apiKey={apiKey} />
      </TableCell>
      <TableCell sx={{ whiteSpace: "nowrap" }}>
        <KeyButtons apiKey={apiKey} onTask={onTask} />
      </TableCell>
    </TableRow>
  );
}

/** The same as the table on a narrow page. */
export function KeyCards({ keys, onTask }: KeyListProps) {
  return (
    <Stack spacing={2}>
      {keys.map((apiKey) => (
        <KeyCard key={apiKey.id} apiKey={apiKey} onTask={onTask} />
      ))}
    </Stack>
  );
}

function KeyCard({ apiKey, onTask }: KeyProps) {
  const translate = useTranslate();
  const { label, prefix, ...facts } = useKeyTexts(apiKey);
  const named = {
    scope: facts.scope,
    rate: facts.rate,
    expires: facts.expires,
    last_used: facts.lastUsed,
  };
  return (
    <Card component="article" aria-label={label || prefix}>
      <CardContent sx={{ pb: 0 }}>
        <Stack direction="row" spacing={1} sx={{ justifyContent: "space-between", alignItems: "flex-start" }}>
          <Typography component="h2" variant="subtitle1" sx={{ overflowWrap: "anywhere" }}>
            {label || prefix}
          </Typography>
          <KeyState apiKey={apiKey} />
        </Stack>
        <code>{prefix}</code>
        {Object.entries(named).map(([name, text]) => (
          <Typography key={name} variant="body2" color="textSecondary">
            {translate(`keys.${name}`)}: {text}
          </Typography>
        ))}
      </CardContent>
      <CardActions>
        <KeyButtons apiKey={apiKey} onTask={onTask} />
      </CardActions>
    </Card>
  );
}

const colors = { valid: "success", expired: "default", revoked: "default" } as const;

function KeyState({ apiKey: { state } }: Pick<KeyProps, "apiKey">) {
  const translate = useTranslate();
  return <Chip size="small" variant="outlined" color={colors[state]} label={translate(`keys.${state}`)} />;
}

const tasks: readonly KeyTask[] = ["edit", "rotate", "revoke"];

/** Buttons for what can be done with a key: nothing when it has ended. */
function KeyButtons({ apiKey, onTask }: KeyProps) {
  const translate = useTranslate();
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

/** What is shown of a key. */
function useKeyTexts({ label, prefix, scope, rate, expires, lastUsed }: ApiKey) {
  const translate = useTranslate();
  return {
    label,
    prefix: `${prefix}…`,
    scope: translate(`keys.${scope}`),
    rate: rate ?? translate("keys.rate_default"),
    expires: expires ? toDay(expires) : translate("keys.never"),
    lastUsed: lastUsed ? toMoment(lastUsed) : translate("keys.never"),
  };
}
