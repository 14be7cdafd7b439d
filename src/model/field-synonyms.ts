// What other programs call our fields in column headings, in English, German and French. Synonyms are lower case, without accents, with words
// separated by one space; word order doesn't matter. "{noun}" stands for one of the resource's nouns.

/** Synonyms by the last name in a field's path. */
export const synonymsOf: Readonly<Record<string, readonly string[]>> = {
  Name: [
    ...["name", "{noun}", "{noun} name", "name {noun}", "name 1", "full name", "display name", "label", "caption"],
    ...["bezeichnung", "benennung", "nom", "nom {noun}", "libelle", "intitule", "denomination", "designation"],
  ],
  AccountNumber: [
    ...["account", "account number", "account no", "account nr", "account id", "account code", "acct", "acct no"],
    ...["acct number", "acct nr", "acc no", "acc number", "a c no", "supplier no", "supplier number", "supplier code"],
    ...["vendor no", "vendor number", "vendor code", "creditor number", "kontonummer", "konto nr", "konto nummer"],
    ...["kunden nr", "kundennummer", "lieferantennummer", "lieferanten nr", "lieferanten nummer", "kreditor"],
    ...["kreditorennummer", "kreditoren nr", "kreditornummer", "kreditor nr", "numero compte", "n compte", "no compte"],
    ...["compte", "code fournisseur", "numero fournisseur", "n fournisseur", "code client", "numero client"],
  ],
  Code: [
    ...["code", "{noun} code", "code {noun}", "{noun} no", "{noun} number", "{noun} nr", "{noun} nummer", "{noun} id"],
    ...[
      "n {noun}",
      "no {noun}",
      "numero {noun}",
      "filialnummer",
      "filial nr",
      "filial nummer",
      "marktnummer",
      "markt nr",
    ],
    ...["kurzel", "kurzzeichen", "standortnummer", "standort nr"],
  ],
  Manager: [
    ...["manager", "manager name", "{noun} manager", "branch manager", "shop manager", "filialleiter", "filialleitung"],
    ...["marktleiter", "marktleitung", "leiter", "leitung", "responsable", "gerant", "directeur", "chef magasin"],
  ],
  Email: [
    ...["email", "e mail", "mail", "email address", "e mail address", "mail address", "emailadresse", "mailadresse"],
    ...["e mail adresse", "email adresse", "courriel", "adresse email", "adresse e mail", "adresse mail", "mel"],
  ],
  Daytime: [
    ...["tel", "telephone", "phone", "telephone number", "phone number", "tel number", "tel no", "phone no", "tel nr"],
    ...["contact number", "contact no", "daytime", "daytime phone", "daytime telephone", "day phone", "work phone"],
    ...["business phone", "office phone", "landline", "phone 1", "tel 1", "telephone 1", "telephone daytime"],
    ...["telefon", "telefonnummer", "telefon nr", "telefon nummer", "fon", "rufnummer", "festnetz", "telefon tagsuber"],
    ...["telefon geschaftlich", "telefon buro", "telefon 1", "numero telephone", "n telephone", "tel fixe"],
    ...["telephone fixe", "telephone bureau", "tel bureau", "telephone journee", "tel travail", "fixe"],
  ],
  Evening: [
    ...["evening", "evening phone", "evening telephone", "telephone evening", "home phone", "home telephone"],
    ...[
      "private phone",
      "telefon privat",
      "telefon abends",
      "privatnummer",
      "tel privat",
      "telephone soir",
      "tel soir",
    ],
    ...["telephone domicile", "tel domicile", "telephone prive"],
  ],
  Mobile: [
    ...["mobile", "mobile phone", "mobile number", "mobile no", "mobile telephone", "mobile tel", "mob", "cell"],
    ...["cell phone", "cell number", "cellphone", "cellular", "gsm", "handy", "handynummer", "handy nr", "mobil"],
    ...["mobiltelefon", "mobilnummer", "mobil nr", "telefon mobil", "mobilfunk", "natel", "portable"],
    ...["telephone portable", "tel portable", "tel mobile", "numero portable", "n portable"],
  ],
  Title: [
    ...["title", "salutation", "honorific", "courtesy title", "anrede", "titel", "civilite", "titre"],
    ...["contact title", "contact salutation"],
  ],
  Firstname: [
    ...["first name", "firstname", "given name", "forename", "fname", "christian name", "vorname", "rufname"],
    ...["vorname ansprechpartner", "prenom", "prenom contact"],
  ],
  Surname: [
    ...["surname", "last name", "lastname", "family name", "lname", "nachname", "familienname", "zuname"],
    ...["nachname ansprechpartner", "nom famille", "nom contact"],
  ],
  AddressLine1: [
    ...["address line 1", "address line", "address", "address 1", "addr", "addr 1", "addr line 1", "add 1", "line 1"],
    ...["address line one", "street", "street 1", "street address", "street name", "street number", "house street"],
    ...["house number street", "strasse", "str", "strasse nr", "strasse hausnummer", "strasse hausnr", "strasse 1"],
    ...["strasse nummer", "anschrift", "adresse", "adresse 1", "adresszeile 1", "anschrift 1", "rue", "voie"],
    ...[
      "rue numero",
      "rue n",
      "numero rue",
      "n rue",
      "adresse ligne 1",
      "ligne 1",
      "adresse postale",
      "postal address",
    ],
  ],
  AddressLine2: [
    ...["address line 2", "address 2", "addr 2", "addr line 2", "add 2", "line 2", "address line two", "street 2"],
    ...["suite", "adresse 2", "adresszeile 2", "adresszusatz", "anschrift 2", "strasse 2", "complement"],
    ...["complement adresse", "adresse complementaire", "adresse ligne 2", "ligne 2"],
  ],
  Town: [
    ...["town", "city", "post town", "municipality", "town name", "city name", "ort", "stadt", "wohnort", "ortschaft"],
    ...["gemeinde", "ville", "commune", "localite"],
  ],
  County: [
    ...["county", "state", "region", "province", "prov", "state code", "state name", "region name", "county name"],
    ...["bundesland", "kanton", "provinz", "departement", "canton"],
  ],
  Postcode: [
    ...["postcode", "post code", "postal code", "zip", "zip code", "zipcode", "postal", "pcode", "eircode"],
    ...["plz", "postleitzahl", "code postal", "cp", "npa"],
  ],
  Country: [
    ...["country", "country code", "country name", "ctry", "ctry code", "cntry", "country iso", "country iso code"],
    ...[
      "iso country",
      "iso country code",
      "iso code",
      "nation",
      "land",
      "landercode",
      "landercode iso",
      "landeskennzeichen",
    ],
    ...["lander kennzeichen", "landerkennzeichen", "landerkurzel", "lkz", "staat", "pays", "code pays", "pays iso"],
  ],
};

/** Other nouns for a record, by resource name. */
export const nounsOf: Readonly<Record<string, readonly string[]>> = {
  brand: [
    ...["manufacturer", "maker", "vendor", "supplier", "producer", "company", "mfr", "mfg", "marke", "marken"],
    ...["hersteller", "lieferant", "lieferanten", "firma", "firmen", "unternehmen", "produzent", "marque", "fabricant"],
    ...["fournisseur", "producteur", "societe", "entreprise", "raison sociale"],
  ],
  "order-status": [
    ...[
      "status",
      "state",
      "order state",
      "stage",
      "bestellstatus",
      "auftragsstatus",
      "bestell status",
      "auftrags status",
    ],
    ...["zustand", "statut", "etat", "statut commande", "etat commande"],
  ],
  location: [
    ...[
      "store",
      "shop",
      "branch",
      "outlet",
      "filiale",
      "filial",
      "standort",
      "laden",
      "geschaft",
      "markt",
      "niederlassung",
    ],
    ...["magasin", "boutique", "succursale", "point vente", "agence", "depot"],
  ],
};

/** Words that add no meaning to a column heading. */
export const fillers: ReadonlySet<string> = new Set(
  "the of and or a an for der die das des und oder fur von de du d la le les l et ou".split(" "),
);

/** Words that only say whose address or telephone number it is. Any other, such as "billing", means a different address, so we don't guess. */
export const owners: ReadonlySet<string> = new Set(
  "address addr adresse anschrift contact kontakt ansprechpartner main primary haupt principal principale".split(" "),
);
