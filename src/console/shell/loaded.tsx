import { Alert, Button, Card, Skeleton, Stack } from "@mui/material";
import type { ReactNode } from "react";
import { useTranslate } from "react-admin";

interface LoadedProps<T> {
  readonly query: {
    readonly data: T | undefined;
    readonly error: Error | null;
    readonly refetch: () => unknown;
  };
  readonly children: (data: T) => ReactNode;
}

/** What was read for a page: grey lines until it is there, and what went wrong when it is not. */
export function Loaded<T>({ query: { data, error, refetch }, children }: LoadedProps<T>) {
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

/** Says why something could not be read, and reads it again on request. */
export function ReadFailed({ error, onRetry }: ReadFailedProps) {
  const translate = useTranslate();
  const again = (
    <Button color="inherit" size="small" onClick={() => onRetry()}>
      {translate("app.retry")}
    </Button>
  );
  return (
    <Alert severity="error" action={again}>
      {error.message}
    </Alert>
  );
}

/** Grey lines in the place of what is being read. */
export function LoadingLines() {
  const translate = useTranslate();
  return (
    <Stack role="progressbar" aria-label={translate("app.loading")} spacing={2} sx={{ p: 2 }}>
      {[60, 85, 70, 40].map((width) => (
        <Skeleton key={width} variant="rounded" height={18} width={`${width}%`} />
      ))}
    </Stack>
  );
}
