// Linters of other projects accept the OpenAPI document as it comes, in OpenAPI 3.0.

import { publicResources } from "../../src/model/resource.ts";
import { toOpenapi } from "../../src/reference/openapi/document.ts";
import type { OpenapiDocument } from "../../src/reference/openapi/document-reader.ts";
import { toOpenapi30 } from "../../src/reference/openapi/openapi-30.ts";
import { allResources } from "../../src/resources/all.ts";
import { describeLinters } from "../support/linters.ts";

const newer = toOpenapi(publicResources(allResources));
describeLinters("3.0", toOpenapi30(newer as OpenapiDocument));
