import { Link } from "@mui/material";
import { useCreatePath, useRecordContext, useResourceContext } from "react-admin";
import { Link as RouterLink } from "react-router-dom";
import { visible } from "../text/visible.ts";

/** The name of a record in the table, as a link, so that operators without a mouse can open the record. */
export function NameLink() {
  const record = useRecordContext();
  const resource = useResourceContext();
  const createPath = useCreatePath();
  if (!record || !resource) return null;
  return (
    <Link
      component={RouterLink}
      to={createPath({ resource, id: record.id, type: "edit" })}
      // Otherwise the row would open the record a second time.
      onClick={(event) => event.stopPropagation()}
      underline="hover"
      color="inherit"
    >
      {visible(record.Name || `#${record.id}`)}
    </Link>
  );
}
