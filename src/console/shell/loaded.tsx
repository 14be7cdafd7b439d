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
  const translate = useTranslate();
  if (data !== undefined) return children(data);
  if (!error)
    return (
      <Card>
        <LoadingLines />
      </Card>
    );
  const again = (
    <Button color="inherit" size="small" onClick={() => refetch()}>
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
