import { List, ListItem, ListItemButton, ListItemText, Typography } from "@mui/material";
import { useQuery } from "@tanstack/react-query";
import { useTranslate } from "react-admin";
import { Link } from "react-router-dom";
import { useSite } from "../frame/site-context.ts";
import { ReadFailed } from "../shell/loaded.tsx";
import { readImports } from "./imports.ts";

/** Lists the open imports, also those of other tabs, so that the operator can continue one. */
export function OpenImports() {
  const translate = useTranslate();
  const site = useSite();
  const {
    data = [],
    error,
    refetch,
  } = useQuery({ queryKey: ["imports", site], queryFn: () => readImports(site), gcTime: 0 });
  if (error) return <ReadFailed error={error} onRetry={refetch} />;
  if (data.length === 0) return null;
  return (
    <div>
      <Typography id="begun-imports">{translate("import.begun")}</Typography>
      <List dense disablePadding aria-labelledby="begun-imports">
        {data.map(({ id, name, state }) => (
          <ListItem key={id} disablePadding>
            <ListItemButton component={Link} to={`/${site}/import?id=${id}`}>
              <ListItemText
                primary={name}
                secondary={translate(`import.state_${state}`)}
                slotProps={{ primary: { sx: { overflowWrap: "anywhere" } } }}
              />
            </ListItemButton>
          </ListItem>
        ))}
      </List>
    </div>
  );
}
