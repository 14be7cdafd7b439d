// The last delivery attempts of a webhook, with their status, error and duration.

import { Box, Chip, Stack, Typography } from "@mui/material";
import type { DeliveryInfo } from "../../admin/api/types.ts";
import { QueryResult } from "../shell/query-result.tsx";
import { toNumber } from "../text/locale.ts";
import { toExactMoment } from "../text/times.ts";
import { translate } from "../text/translate.ts";
import { useDeliveries } from "./webhooks.ts";

/** Lists the last delivery attempts of a webhook, the latest first. */
export function Deliveries({ id }: { readonly id: number }) {
  const query = useDeliveries(id);
  return (
    <QueryResult query={query}>
      {(deliveries) =>
        deliveries.length === 0 ? (
          <Typography color="textSecondary">{translate("webhooks.no_deliveries")}</Typography>
        ) : (
          <Box
            component="ul"
            tabIndex={0}
            aria-label={translate("webhooks.deliveries")}
            sx={{ m: 0, p: 0, listStyle: "none", maxHeight: 320, overflowY: "auto" }}
          >
            {deliveries.map((delivery) => (
              <Delivery key={`${delivery.at} ${delivery.milliseconds}`} delivery={delivery} />
            ))}
          </Box>
        )
      }
    </QueryResult>
  );
}

/** The columns: time, status, error, and duration. On a phone, the error is below the others. */
const columns = { xs: "1fr auto auto", sm: "190px 64px 1fr auto" };

function Delivery({ delivery: { at, status, milliseconds, fault } }: { readonly delivery: DeliveryInfo }) {
  const seconds = milliseconds / 1000;
  const took =
    milliseconds < 1000
      ? translate("webhooks.milliseconds", { count: milliseconds })
      : translate("webhooks.seconds", { count: toNumber(seconds, { maximumFractionDigits: 1 }) });
  return (
    <Box
      component="li"
      sx={{
        display: "grid",
        gridTemplateColumns: columns,
        columnGap: { xs: 1, sm: 2 },
        alignItems: "center",
        py: 0.75,
        borderTop: 1,
        borderColor: "divider",
      }}
    >
      <Typography variant="body2" sx={{ fontSize: { xs: 13, sm: 14 } }}>
        {toExactMoment(at)}
      </Typography>
      <Stack sx={{ alignItems: "flex-start" }}>
        <Chip
          size="small"
          variant="outlined"
          color={fault ? "error" : "success"}
          label={status ?? translate("webhooks.no_response")}
        />
      </Stack>
      <Typography
        variant="body2"
        color="textSecondary"
        sx={{ order: { xs: 1, sm: 0 }, gridColumn: { xs: "1 / -1", sm: "auto" }, overflowWrap: "anywhere" }}
      >
        {fault}
      </Typography>
      <Typography variant="body2" sx={{ textAlign: "right", fontVariantNumeric: "tabular-nums", minWidth: 56 }}>
        {took}
      </Typography>
    </Box>
  );
}
