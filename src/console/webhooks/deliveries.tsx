import { Box, Chip, Table, TableBody, TableCell, TableHead, TableRow, Typography } from "@mui/material";
import { useTranslate } from "react-admin";
import { toMoment } from "../times.ts";
import { useDeliveries, type WebhookDelivery } from "./webhooks.ts";

/** The last attempts of a webhook. */
export function Deliveries({ id }: { readonly id: number }) {
  const translate = useTranslate();
  const deliveries = useDeliveries(id);
  if (!deliveries) return null;
  if (deliveries.length === 0) return <Typography>{translate("webhooks.no_deliveries")}</Typography>;
  return (
    <Box sx={{ overflowX: "auto", maxHeight: 320 }}>
      <Table size="small" stickyHeader>
        <TableHead>
          <TableRow>
            <TableCell>{translate("webhooks.time")}</TableCell>
            <TableCell>{translate("webhooks.response")}</TableCell>
            <TableCell>{translate("webhooks.took")}</TableCell>
          </TableRow>
        </TableHead>
        <TableBody>
          {deliveries.map((delivery) => (
            <DeliveryRow key={`${delivery.at} ${delivery.milliseconds}`} delivery={delivery} />
          ))}
        </TableBody>
      </Table>
    </Box>
  );
}

function DeliveryRow({ delivery: { at, status, milliseconds, fault } }: { readonly delivery: WebhookDelivery }) {
  const translate = useTranslate();
  return (
    <TableRow>
      <TableCell sx={{ whiteSpace: "nowrap" }}>{toMoment(at)}</TableCell>
      <TableCell>
        <Chip
          size="small"
          variant="outlined"
          color={fault ? "error" : "success"}
          label={status ?? translate("webhooks.no_response")}
        />{" "}
        {fault}
      </TableCell>
      <TableCell>{translate("webhooks.milliseconds", { count: milliseconds })}</TableCell>
    </TableRow>
  );
}
