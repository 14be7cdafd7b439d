// A webhook's latest delivery attempts, and the request and response of one of them.

import { Alert, Box, Chip, Stack, Typography } from "@mui/material";
import { useState } from "react";
import type { DeliveryInfo, ExchangeResponse } from "../../admin/api/types.ts";
import { type DataColumn, DataList } from "../shell/data-list.tsx";
import { DialogFrame } from "../shell/dialog-frame.tsx";
import { QueryResult } from "../shell/query-result.tsx";
import { capitalize, toNumber } from "../text/locale.ts";
import { toDuration, toExactMoment } from "../text/times.tsx";
import { showInvisible, translate } from "../text/translate.ts";
import { useDeliveries, useExchange } from "./webhooks.ts";

export function Deliveries({ id }: { readonly id: number }) {
  const query = useDeliveries(id);
  const [opened, setOpened] = useState<DeliveryInfo>();
  return (
    <QueryResult query={query}>
      {({ deliveries, exchanges }) => (
        <>
          <Box sx={{ maxHeight: 360, overflowY: "auto" }}>
            <DataList
              label={translate("webhooks.deliveries")}
              rows={deliveries}
              columns={columns}
              rowKey={({ number }) => number}
              nameOf={({ at }) => toExactMoment(at)}
              onOpen={setOpened}
              empty={<Typography color="textSecondary">{translate("webhooks.no_deliveries")}</Typography>}
            />
          </Box>
          {opened && (
            <DeliveryDetails
              webhook={id}
              delivery={opened}
              isKept={(deliveries[0]?.number ?? 0) - opened.number < exchanges}
              onClose={() => setOpened(undefined)}
            />
          )}
        </>
      )}
    </QueryResult>
  );
}

const columns: readonly DataColumn<DeliveryInfo>[] = [
  { name: "at", label: translate("general.time"), isPrimary: true, render: ({ at }) => toExactMoment(at) },
  { name: "status", label: translate("general.status"), render: (delivery) => <Status delivery={delivery} /> },
  { name: "fault", label: translate("webhooks.result"), render: ({ fault }) => describeResult(fault) },
  {
    name: "took",
    label: translate("general.took"),
    align: "right",
    render: ({ milliseconds }) => <span className="whole">{toDuration(milliseconds)}</span>,
  },
];

function describeResult(fault: string | null): string {
  return fault === null ? translate("webhooks.received") : capitalize(fault);
}

function Status({ delivery: { status, fault } }: { readonly delivery: DeliveryInfo }) {
  const label = status ?? translate("webhooks.no_response");
  return <Chip variant="outlined" color={fault ? "error" : "success"} label={label} />;
}

interface DeliveryDetailsProps {
  /** The webhook's ID. */
  readonly webhook: number;
  readonly delivery: DeliveryInfo;
  /** Whether the server still has the request and response. */
  readonly isKept: boolean;
  readonly onClose: () => void;
}

function DeliveryDetails({ webhook, delivery, isKept, onClose }: DeliveryDetailsProps) {
  const { at, fault, milliseconds } = delivery;
  return (
    <DialogFrame
      title={translate("webhooks.delivery_title", { time: toExactMoment(at) })}
      maxWidth="md"
      isLong
      onClose={onClose}
    >
      <Stack spacing={2}>
        <Alert severity={fault ? "error" : "success"} sx={{ overflowWrap: "anywhere" }}>
          {describeResult(fault)} · {toDuration(milliseconds)}
        </Alert>
        {isKept ? (
          <Exchange webhook={webhook} delivery={delivery} />
        ) : (
          <Typography color="textSecondary">{translate("webhooks.not_kept")}</Typography>
        )}
      </Stack>
    </DialogFrame>
  );
}

function Exchange({ webhook, delivery }: Pick<DeliveryDetailsProps, "webhook" | "delivery">) {
  const query = useExchange(webhook, delivery.number);
  return (
    <QueryResult query={query}>
      {({ url, request, response }) => (
        <>
          <Message title={translate("requests.request")} start={`POST ${url}`} message={request} />
          {response ? (
            <Message title={translate("webhooks.response")} start={`${delivery.status ?? ""}`} message={response} />
          ) : (
            <Typography color="textSecondary">{translate("webhooks.without_response")}</Typography>
          )}
        </>
      )}
    </QueryResult>
  );
}

interface MessageProps {
  readonly title: string;
  /** The first line. */
  readonly start: string;
  readonly message: ExchangeResponse["request"];
}

/** A request or response: its headers, and as much of its body as was kept. */
function Message({ title, start, message: { headers, body, isText, bytes } }: MessageProps) {
  const length = isText ? new TextEncoder().encode(body).length : body.length / 2;
  const isCut = length < bytes;
  const counts = { count: toNumber(bytes), shown: toNumber(length) };
  return (
    <Box component="section">
      <Typography component="h3" variant="subtitle2">
        {title}
      </Typography>
      <Box component="pre" tabIndex={0} aria-label={title} sx={messageStyle}>
        {start}
        {headers.map(([name, value]) => `\n${name}: ${showInvisible(value)}`)}
        {body && `\n\n${isText ? showInvisible(isCut ? body : indentJson(body)) : body}`}
      </Box>
      <Typography variant="body2" color="textSecondary">
        {!isText && `${translate("webhooks.not_text")} `}
        {isCut ? translate("webhooks.cut", counts) : translate("general.bytes", counts)}
      </Typography>
    </Box>
  );
}

const messageStyle = {
  m: 0,
  my: 0.5,
  p: 1.5,
  maxHeight: 280,
  overflow: "auto",
  border: 1,
  borderColor: "divider",
  borderRadius: 1,
  bgcolor: "action.hover",
  fontSize: 12,
  whiteSpace: "pre-wrap",
  overflowWrap: "anywhere",
} as const;

/** Pretty-prints JSON, and returns any other text unchanged. */
function indentJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}
