// The dialog that finds records in all sites by an exact value.

import {
  Button,
  Dialog,
  DialogContent,
  DialogTitle,
  InputAdornment,
  List,
  ListItemButton,
  ListItemText,
  TextField,
  Typography,
} from "@mui/material";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useState } from "react";
import type { FindResponse, FoundRecordInfo } from "../../admin/api/record-types.ts";
import { callApi } from "../api/call-api.ts";
import { SearchIcon } from "../shell/icons.tsx";
import { openPanel } from "../shell/page.tsx";
import { ReadFailed } from "../shell/query-result.tsx";
import { Link, navigate } from "../shell/router.tsx";
import { singularOf, useDeclared } from "../shell/site-context.ts";
import { useDebounced } from "../shell/site-data.ts";
import { forScreenReaders } from "../shell/theme.ts";
import { labelOf } from "../text/fields.ts";
import { showInvisible, translate } from "../text/translate.ts";

const close = () => openPanel(undefined);

export function FindDialog() {
  const { maxSearchLength } = useDeclared();
  const [text, setText] = useState("");
  const wanted = useDebounced(text.trim(), 250);
  const { found, isSearching, error, retry, further } = useFind(wanted);

  function onKeyDown({ key }: KeyboardEvent) {
    const [first] = found;
    if (key !== "Enter" || !first || wanted !== text.trim()) return;
    navigate(toAddress(first));
    close();
  }

  const isEmpty = wanted !== "" && !isSearching && found.length === 0 && !error;
  return (
    <Dialog
      open
      onClose={close}
      fullWidth
      maxWidth="sm"
      sx={{ "& .MuiDialog-container": { alignItems: "flex-start" } }}
    >
      <DialogTitle sx={forScreenReaders}>{translate("find.title")}</DialogTitle>
      <DialogContent>
        <TextField
          autoFocus
          type="search"
          label={translate("find.label")}
          helperText={translate("find.help")}
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={onKeyDown}
          slotProps={{
            htmlInput: { maxLength: maxSearchLength },
            input: {
              startAdornment: (
                <InputAdornment position="start">
                  <SearchIcon />
                </InputAdornment>
              ),
            },
          }}
        />
        <List dense aria-live="polite">
          {found.map((record) => (
            <FoundItem key={toAddress(record)} record={record} />
          ))}
        </List>
        {error && !isSearching && <ReadFailed error={error} onRetry={retry} />}
        {isEmpty && <Typography color="textSecondary">{translate("find.none")}</Typography>}
        {isSearching && <Typography color="textSecondary">{translate("find.searching")}</Typography>}
        {further && !isSearching && !error && <Button onClick={further}>{translate("find.further")}</Button>}
      </DialogContent>
    </Dialog>
  );
}

function FoundItem({ record }: { readonly record: FoundRecordInfo }) {
  const { resources } = useDeclared();
  const { site, resource, id, name, field } = record;
  const singular = singularOf(resources, resource);
  return (
    <ListItemButton component={Link} to={toAddress(record)} onClick={close}>
      <ListItemText
        primary={showInvisible(name) || `#${id}`}
        secondary={[site, `${singular} ${id}`, labelOf(field)].join(" · ")}
        slotProps={{ primary: { sx: { overflowWrap: "anywhere" } } }}
      />
    </ListItemButton>
  );
}

function toAddress({ site, resource, id }: FoundRecordInfo): string {
  return `/${site}/${resource}/${id}`;
}

/**
 * Returns the records found so far. `further` continues a search that stopped before the last site. @param text the exact value; if it's empty,
 * nothing is searched
 */
function useFind(text: string) {
  const query = useInfiniteQuery({
    queryKey: ["find", text],
    enabled: text !== "",
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      callApi<FindResponse>("GET", `/find?${new URLSearchParams({ text, after: String(pageParam) })}`, undefined, {
        signal,
      }),
    getNextPageParam: ({ next }) => next,
    gcTime: 0,
    retry: false,
  });
  return {
    found: query.data?.pages.flatMap(({ found }) => found) ?? [],
    isSearching: query.isFetching,
    error: query.error,
    retry: query.data ? query.fetchNextPage : query.refetch,
    further: query.hasNextPage ? () => void query.fetchNextPage() : undefined,
  };
}
