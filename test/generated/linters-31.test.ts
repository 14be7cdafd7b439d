// Linters of other projects accept the OpenAPI document as it comes, in OpenAPI 3.1.

import { publicResources } from "../../src/model/resource.ts";
import { toOpenapi } from "../../src/reference/openapi/document.ts";
import { allResources } from "../../src/resources/all.ts";
import { describeLinters } from "../support/linters.ts";

describeLinters("3.1", toOpenapi(publicResources(allResources)));
