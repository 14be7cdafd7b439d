// Guesses which column of a file is which field, from other programs' headers. A wrong guess is worse than none.

import { expect, test } from "bun:test";
import { guessFields } from "../../src/operator/import/column-guess.ts";
import { allResources } from "../../src/resources/all.ts";

const resourceNamed = (path: string) => {
  const found = allResources.find((one) => one.path === path);
  if (!found) throw new Error(`no resource ${path}`);
  return found;
};

/** Returns the field of each column that has one, `Name` if it's named so and `?Name` if guessed. */
function guess(path: string, columns: readonly string[], row: readonly string[] = []): Record<string, string> {
  const named = columns.map((name, index) => ({ name, samples: row[index] === undefined ? [] : [row[index]] }));
  const fields = guessFields(resourceNamed(path), named);
  return Object.fromEntries(
    fields.flatMap(({ field, isGuessed }, index) =>
      field === undefined ? [] : [[columns[index] as string, isGuessed ? `?${field}` : field]],
    ),
  );
}

const none = {};
const headers: [string, string, string, Record<string, string>][] = [
  [
    "an English list of suppliers",
    "brands",
    "Brand name;Acct no;Tel.;Mobile;Addr 1;Addr 2;Town/City;County;Zip;Ctry;Notes",
    {
      "Brand name": "?Name",
      "Acct no": "?AccountNumber",
      "Tel.": "?Telephone.Daytime",
      Mobile: "Telephone.Mobile",
      "Addr 1": "?Address.AddressLine1",
      "Addr 2": "?Address.AddressLine2",
      "Town/City": "?Address.Town",
      County: "Address.County",
      Zip: "?Address.Postcode",
      Ctry: "?Address.Country",
    },
  ],
  [
    "a German list of suppliers",
    "brands",
    "Lieferanten-Nr.;Firma;Anrede;Vorname;Nachname;Straße;PLZ;Ort;Land;Telefon;Handy;Fax;USt-IdNr.;Bemerkung",
    {
      "Lieferanten-Nr.": "?AccountNumber",
      Firma: "?Name",
      Anrede: "?Address.Title",
      Vorname: "?Address.Firstname",
      Nachname: "?Address.Surname",
      Straße: "?Address.AddressLine1",
      PLZ: "?Address.Postcode",
      Ort: "?Address.Town",
      Land: "?Address.Country",
      Telefon: "?Telephone.Daytime",
      Handy: "?Telephone.Mobile",
    },
  ],
  [
    "a French list of suppliers",
    "brands",
    "Fournisseur;N° de compte;Civilité;Prénom;Adresse;Complément d'adresse;Code postal;Ville;Pays;Téléphone;Portable;TVA",
    {
      Fournisseur: "?Name",
      "N° de compte": "?AccountNumber",
      Civilité: "?Address.Title",
      Prénom: "?Address.Firstname",
      Adresse: "?Address.AddressLine1",
      "Complément d'adresse": "?Address.AddressLine2",
      "Code postal": "?Address.Postcode",
      Ville: "?Address.Town",
      Pays: "?Address.Country",
      Téléphone: "?Telephone.Daytime",
      Portable: "?Telephone.Mobile",
    },
  ],
  [
    "manufacturers of PrestaShop: their own IDs are not those of the records",
    "brands",
    "id_manufacturer;name;lastname;firstname;address1;address2;postcode;city;state;iso_code;phone;phone_mobile",
    {
      name: "Name",
      lastname: "?Address.Surname",
      firstname: "Address.Firstname",
      address1: "?Address.AddressLine1",
      address2: "?Address.AddressLine2",
      postcode: "Address.Postcode",
      city: "?Address.Town",
      state: "?Address.County",
      iso_code: "?Address.Country",
      phone: "?Telephone.Daytime",
      phone_mobile: "?Telephone.Mobile",
    },
  ],
  [
    "Shopify's product export",
    "brands",
    "Handle;Vendor;Product Category;Type;Tags;Published;Option1 Name;Option1 Value;Variant SKU;Variant Price;Image Src",
    { Vendor: "?Name" },
  ],
  [
    "stores",
    "locations",
    "Store no.;Store;Store manager;E-mail;Phone number;Street;City;Zip/Postal code;Country code;Opening hours",
    {
      "Store no.": "?Code",
      Store: "?Name",
      "Store manager": "?Manager",
      "E-mail": "Email",
      "Phone number": "?Telephone.Daytime",
      Street: "?Address.AddressLine1",
      City: "?Address.Town",
      "Zip/Postal code": "?Address.Postcode",
      "Country code": "?Address.Country",
    },
  ],
  [
    "German stores",
    "locations",
    "Filialnummer;Filiale;Filialleiter;E-Mail-Adresse;Telefon-Nr.;Straße und Hausnummer;Postleitzahl;Stadt;Bundesland",
    {
      Filialnummer: "?Code",
      Filiale: "?Name",
      Filialleiter: "?Manager",
      "E-Mail-Adresse": "?Email",
      "Telefon-Nr.": "?Telephone.Daytime",
      "Straße und Hausnummer": "?Address.AddressLine1",
      Postleitzahl: "?Address.Postcode",
      Stadt: "?Address.Town",
      Bundesland: "?Address.County",
    },
  ],
  [
    "French stores",
    "locations",
    "Magasin;Code magasin;Gérant;Courriel",
    { Magasin: "?Name", "Code magasin": "?Code", Gérant: "?Manager", Courriel: "?Email" },
  ],
  ["order statuses", "orderstatuses", "Nr;Bestellstatus", { Bestellstatus: "?Name" }],
  [
    "words in another order and case, and mistypings",
    "brands",
    "PHONE_mobile;Contry;Adress;postCode",
    {
      PHONE_mobile: "?Telephone.Mobile",
      Contry: "?Address.Country",
      Adress: "?Address.AddressLine1",
      postCode: "Address.Postcode",
    },
  ],
  [
    "names with the owner of the address",
    "brands",
    "Supplier;Supplier city;Company phone;Contact postcode",
    {
      Supplier: "?Name",
      "Supplier city": "?Address.Town",
      "Company phone": "?Telephone.Daytime",
      "Contact postcode": "?Address.Postcode",
    },
  ],
  [
    "remarks in brackets",
    "brands",
    "Town (as printed);Phone (mobile);Phone (fax)",
    { "Town (as printed)": "?Address.Town", "Phone (mobile)": "?Telephone.Mobile" },
  ],
  [
    "other addresses and numbers",
    "brands",
    "Billing city;Fax;Bank account;IBAN;VAT no;Invoice address;Area code;Parent brand;Brand manager;Contact;Contact name;Website;Created date;Username;PLZ/Ort;Tel/Fax;Country of birth;Phone 2;Telephone 3",
    none,
  ],
  [
    "people next to the company",
    "brands",
    "Firma;Name;Vorname",
    { Firma: "?Name", Name: "?Address.Surname", Vorname: "?Address.Firstname" },
  ],
  ["people without a company", "brands", "Nom;Prénom;Ville", { Prénom: "?Address.Firstname", Ville: "?Address.Town" }],
  [
    "two columns for one field: the surest, then the first",
    "brands",
    "Phone;Telephone;Brand;Name",
    { Phone: "?Telephone.Daytime", Name: "Name" },
  ],
  [
    "columns without a name, with the same name, or with remarks of rejected rows",
    "brands",
    ";City;City;# row;...",
    none,
  ],
];
test.each(headers)("column guess: %s", (_, path, header, fields) => {
  expect(guess(path, header.split(";"))).toEqual(fields);
});

const contents: [string, string, string, Record<string, string>][] = [
  ["a state that is not a region", "State", "active", none],
  ["a state that is a region", "State", "Ohio", { State: "?Address.County" }],
  ["a product title", "Title", "Blue cotton shirt, long", none],
  ["a form of address", "Title", "Ms", { Title: "Address.Title" }],
  ["a postcode without digits", "Zip", "archive", none],
  ["a company that is a number", "Company", "4711", none],
  ["an account that is a name", "Account", "Acme", none],
  ["a phone number that's an email address", "Contact number", "a1@b.example", none],
  [
    "a field with its own name, whatever its cells",
    "Address.Country",
    "4711",
    { "Address.Country": "Address.Country" },
  ],
];
test.each(contents)("column guess also depends on the first cells: %s", (_, name, cell, fields) => {
  expect(guess("brands", [name], [cell])).toEqual(fields);
});

test("column guess: every text field is found by its path, as in address_town", () => {
  for (const resource of allResources.filter(({ access }) => access !== "system")) {
    const paths = resource.textFields.map(({ path }) => path);
    const expected = Object.fromEntries(paths.map((path) => [path.replaceAll(".", "_").toLowerCase(), path]));
    expect(guess(resource.path, Object.keys(expected))).toEqual(expected);
  }
});
