// The form of a new record.

import { Box } from "@mui/material";
import { Create, SimpleForm } from "react-admin";
import { translate } from "../text/translate.ts";
import { FormHeader, FormToolbar, type RecordPageProps, UnsavedReporter } from "./form-parts.tsx";
import { RecordFields } from "./record-fields.tsx";

/** A form for a new record. */
export function RecordCreate({ resource, onClose, onLeave }: RecordPageProps) {
  return (
    <Create title=" " resource={resource.path} mutationOptions={{ onSuccess: onClose }} component={Box}>
      <FormHeader title={translate("record.new", { name: resource.singular })} onLeave={onLeave} />
      <SimpleForm toolbar={<FormToolbar />}>
        <RecordFields resource={resource} />
        <UnsavedReporter />
      </SimpleForm>
    </Create>
  );
}
