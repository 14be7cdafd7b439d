// Vendure with its default settings, and a brand's fields on facet values. Listens on PORT.

const { bootstrap, DefaultLogger, LogLevel } = require("@vendure/core");

const text = (name) => ({ name, type: "string" });
const struct = (name, ...names) => ({ name, type: "struct", fields: names.map(text) });
const address = ["Title", "Firstname", "Surname", "AddressLine1", "AddressLine2", "Town", "County", "Postcode"];

bootstrap({
  apiOptions: {
    port: Number(process.env.PORT),
    hostname: "127.0.0.1",
    adminApiPath: "admin-api",
    shopApiPath: "shop-api",
  },
  authOptions: { tokenMethod: "bearer", superadminCredentials: { identifier: "bench", password: "bench-bench" } },
  dbConnectionOptions: { type: "better-sqlite3", database: "vendure.db", synchronize: true },
  logger: new DefaultLogger({ level: LogLevel.Error }),
  paymentOptions: { paymentMethodHandlers: [] },
  customFields: {
    FacetValue: [
      text("AccountNumber"),
      struct("Telephone", "Daytime", "Evening", "Mobile"),
      struct("Address", ...address, "Country"),
    ],
  },
});
