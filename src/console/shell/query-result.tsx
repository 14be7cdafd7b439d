// Data that is read from the server: grey lines before it has arrived, and an error with a button if the read has failed.

import { Alert, Button, Card, Skeleton, Stack } from "@mui/material";
import type { ReactNode } from "react";
import { translate } from "../text/translate.ts";

interface QueryResultProps<T> {
  readonly query: {
    readonly data: T | undefined;
    readonly error: Error | null;
    readonly refetch: () => unknown;
  };
  readonly children: (data: T) => ReactNode;
}

/** Shows the data of a query. Shows grey lines until the data is read, and an error if the read failed. */
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

/** Shows why a read failed, with a button that repeats it. */
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

/** Grey lines as a placeholder for data that is being read. */
export function LoadingLines() {
  return (
    <Stack role="progressbar" aria-label={translate("general.loading")} spacing={2} sx={{ p: 2 }}>
      {[60, 85, 70, 40].map((width) => (
        <Skeleton key={width} variant="rounded" height={18} width={`${width}%`} />
      ))}
    </Stack>
  );
}
