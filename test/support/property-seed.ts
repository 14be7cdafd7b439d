// Makes property tests (fast-check) try the same inputs in every run, so that runs can be repeated. `PROPERTY_SEED=2 npm test` tries others.

import fc from "fast-check";

fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED ?? 1) });
