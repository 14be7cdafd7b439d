// The list of operators: a table, or on a phone a card for each operator.

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
import type { OperatorInfo } from "../../admin/api/types.ts";
import { useSession } from "../shell/site-context.ts";
import { useIsNarrow } from "../shell/theme.ts";
import { showInvisible } from "../text/show-invisible.ts";
import { toDay } from "../text/times.ts";
import { translate } from "../text/translate.ts";
import type { OpenOperator } from "./operators-page.tsx";

interface OperatorListProps {
  readonly operators: readonly OperatorInfo[];
  readonly onOpen: (open: OpenOperator) => void;
}

export function OperatorList(props: OperatorListProps) {
  const isNarrow = useIsNarrow();
  return isNarrow ? <OperatorCards {...props} /> : <OperatorTable {...props} />;
}

function OperatorTable({ operators, onOpen }: OperatorListProps) {
  return (
    <TableContainer component={Card}>
      <Table size="small">
        <TableHead>
          <TableRow>
            <TableCell>{translate("operators.name")}</TableCell>
            <TableCell>{translate("operators.sites")}</TableCell>
            <TableCell>{translate("operators.created")}</TableCell>
            <TableCell component="td" />
          </TableRow>
        </TableHead>
        <TableBody>
          {operators.map((operator) => (
            <TableRow key={operator.id} hover>
              <TableCell>
                <OperatorName operator={operator} />
              </TableCell>
              <TableCell sx={{ overflowWrap: "anywhere" }}>
                <OperatorSites operator={operator} />
              </TableCell>
              <TableCell sx={{ whiteSpace: "nowrap" }}>{toDay(operator.created)}</TableCell>
              <TableCell align="right" sx={{ whiteSpace: "nowrap" }}>
                <OperatorButtons operator={operator} onOpen={onOpen} />
              </TableCell>
            </TableRow>
          ))}
        </TableBody>
      </Table>
    </TableContainer>
  );
}

function OperatorCards({ operators, onOpen }: OperatorListProps) {
  return (
    <Stack spacing={1.5}>
      {operators.map((operator) => (
        <Card key={operator.id} component="article" aria-label={operator.name}>
          <CardContent sx={{ pb: 0 }}>
            <OperatorName operator={operator} />
            <Typography variant="body2" color="textSecondary" sx={{ overflowWrap: "anywhere" }}>
              <OperatorSites operator={operator} />
            </Typography>
          </CardContent>
          <CardActions sx={{ flexWrap: "wrap" }}>
            <OperatorButtons operator={operator} onOpen={onOpen} />
          </CardActions>
        </Card>
      ))}
    </Stack>
  );
}

function OperatorName({ operator: { name } }: { readonly operator: OperatorInfo }) {
  const { operator: own } = useSession();
  return (
    <Stack direction="row" useFlexGap spacing={1} sx={{ alignItems: "center", flexWrap: "wrap" }}>
      <Typography variant="body2" component="span" sx={{ fontWeight: 600, overflowWrap: "anywhere" }}>
        {showInvisible(name)}
      </Typography>
      {name === own && <Chip size="small" variant="outlined" label={translate("operators.you")} />}
    </Stack>
  );
}

function OperatorSites({ operator: { sites } }: { readonly operator: OperatorInfo }) {
  return sites ? sites.join(", ") || translate("operators.no_sites") : translate("operators.all_sites");
}

interface OperatorButtonsProps extends Pick<OperatorListProps, "onOpen"> {
  readonly operator: OperatorInfo;
}

function OperatorButtons({ operator, onOpen }: OperatorButtonsProps) {
  return (["link", "change_sites", "sign_out", "remove"] as const).map((kind) => (
    <Button
      key={kind}
      size="small"
      color={kind === "remove" ? "error" : "primary"}
      onClick={() => onOpen({ kind, operator })}
      aria-label={`${translate(`operators.${kind}`)}: ${operator.name}`}
    >
      {translate(`operators.${kind}`)}
    </Button>
  ));
}
