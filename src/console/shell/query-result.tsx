// Shows what was read from the server: grey lines while it loads, an error with a retry button if that failed, or a placeholder if a list is empty.

import { Alert, Box, Button, Card, Skeleton, Stack, Typography } from "@mui/material";
import type { ReactNode } from "react";
import { translate } from "../text/translate.ts";
import type { IconComponent } from "./icons.tsx";

interface QueryResultProps<T> {
  readonly query: {
    readonly data: T | undefined;
    readonly error: Error | null;
    readonly refetch: () => unknown;
  };
  readonly children: (data: T) => ReactNode;
}

export function QueryResult<T>({ query: { data, error, refetch }, children }: QueryResultProps<T>) {
  if (data !== undefined) return children(data);
  if (error) return <ReadFailed error={error} onRetry={refetch} />;
  return (
    <Card>
      <LoadingLines />
    </Card>
  );
}

interface ReadFailedProps {
  readonly error: Error;
  readonly onRetry: () => unknown;
}

export function ReadFailed({ error, onRetry }: ReadFailedProps) {
  const retryButton = (
    <Button color="inherit" size="small" onClick={() => onRetry()}>
      {translate("general.retry")}
    </Button>
  );
  return (
    <Alert severity="error" action={retryButton}>
      {error.message}
    </Alert>
  );
}

export function LoadingLines() {
  return (
    <Stack role="progressbar" aria-label={translate("general.loading")} spacing={2} sx={{ p: 2 }}>
      {[60, 85, 70, 40].map((width) => (
        <Skeleton key={width} variant="rounded" height={18} width={`${width}%`} />
      ))}
    </Stack>
  );
}

interface EmptyListProps {
  readonly icon: IconComponent;
  /** Says that the list is empty. */
  readonly title: string;
  /** Says what the list is for. */
  readonly explain?: string;
  /** Buttons, for example to create an item. */
  readonly children?: ReactNode;
}

export function EmptyList({ icon: Icon, title, explain, children }: EmptyListProps) {
  return (
    <Card>
      <Stack spacing={1} sx={{ px: 2, py: { xs: 4, sm: 7 }, alignItems: "center", textAlign: "center" }}>
        <Box sx={{ display: "flex", p: 1.5, mb: 0.5, borderRadius: 1.2, bgcolor: "action.selected" }}>
          <Icon color="primary" sx={{ fontSize: 28 }} />
        </Box>
        <Typography sx={{ fontWeight: 600, overflowWrap: "anywhere" }}>{title}</Typography>
        {explain && (
          <Typography color="textSecondary" sx={{ maxWidth: 520 }}>
            {explain}
          </Typography>
        )}
        {children && (
          <Stack
            direction="row"
            useFlexGap
            spacing={1}
            sx={{ pt: 1, width: "100%", flexWrap: "wrap", justifyContent: "center" }}
          >
            {children}
          </Stack>
        )}
      </Stack>
    </Card>
  );
}
