// Generated from the declarations of the resources by `npm run openapi`. Do not edit.

import type { ReadCollection, WriteCollection } from "./record-collection.ts";

/** Telephone numbers, in any notation. */
export interface Telephone {
  /** Daytime number. At most 64 characters. */
  Daytime: string;
  /** Evening number. At most 64 characters. */
  Evening: string;
  /** Mobile number. At most 64 characters. */
  Mobile: string;
}

/** A postal address and a contact person. */
export interface Address {
  /** Title of the person. At most 32 characters. */
  Title: string;
  /** First name of the person. At most 128 characters. */
  Firstname: string;
  /** Surname of the person. At most 128 characters. */
  Surname: string;
  /** House and street. At most 255 characters. */
  AddressLine1: string;
  /** Second line of the address. At most 255 characters. */
  AddressLine2: string;
  /** Town or city. At most 128 characters. */
  Town: string;
  /** County, state or region. At most 128 characters. */
  County: string;
  /** Postal code. At most 32 characters. */
  Postcode: string;
  /** Country code of 2 or 3 letters, stored as sent. At most 3 characters. */
  Country: string;
}

/** A manufacturer. Catalog items can be assigned to it, for shopping and reporting. */
export interface Brand {
  /** Assigned by the server and never reused. */
  readonly ID: number;
  /** Name of the brand. Need not be unique. At most 255 characters. */
  Name: string;
  /** Account number of the brand. At most 64 characters. */
  AccountNumber: string;
  /** Telephone numbers, in any notation. */
  Telephone: Telephone;
  /** A postal address and a contact person. */
  Address: Address;
}

/** The fields of a new record. Missing fields are stored empty. */
export interface NewBrand {
  /** Name of the brand. Need not be unique. At most 255 characters. */
  Name: string;
  /** Account number of the brand. At most 64 characters. */
  AccountNumber?: string;
  /** Telephone numbers, in any notation. */
  Telephone?: Partial<Telephone>;
  /** A postal address and a contact person. */
  Address?: Partial<Address>;
}

/** The fields to change. Missing fields keep their values. */
export type BrandChanges = Partial<NewBrand>;

/** A field to sort or filter Brand records by. */
export type BrandPath =
  | "ID"
  | "Name"
  | "AccountNumber"
  | "Telephone.Daytime"
  | "Telephone.Evening"
  | "Telephone.Mobile"
  | "Address.Title"
  | "Address.Firstname"
  | "Address.Surname"
  | "Address.AddressLine1"
  | "Address.AddressLine2"
  | "Address.Town"
  | "Address.County"
  | "Address.Postcode"
  | "Address.Country";

/** A label that can be assigned to orders. */
export interface OrderStatus {
  /** Assigned by the server and never reused. */
  readonly ID: number;
  /** Text of the label. At most 255 characters. */
  Name: string;
}

/** The fields of a new record. Missing fields are stored empty. */
export interface NewOrderStatus {
  /** Text of the label. At most 255 characters. */
  Name: string;
}

/** The fields to change. Missing fields keep their values. */
export type OrderStatusChanges = Partial<NewOrderStatus>;

/** A field to sort or filter OrderStatus records by. */
export type OrderStatusPath =
  | "ID"
  | "Name";

/** A store of the shop. The operator maintains it; clients read it. */
export interface Location {
  /** Assigned by the server and never reused. */
  readonly ID: number;
  /** The operator's code for the store. At most 64 characters. */
  Code: string;
  /** Name of the store. At most 255 characters. */
  Name: string;
  /** Name of the store manager. At most 128 characters. */
  Manager: string;
  /** E-mail address of the store. At most 254 characters. */
  Email: string;
  /** Telephone numbers, in any notation. */
  Telephone: Telephone;
  /** A postal address and a contact person. */
  Address: Address;
}

/** A field to sort or filter Location records by. */
export type LocationPath =
  | "ID"
  | "Code"
  | "Name"
  | "Manager"
  | "Email"
  | "Telephone.Daytime"
  | "Telephone.Evening"
  | "Telephone.Mobile"
  | "Address.Title"
  | "Address.Firstname"
  | "Address.Surname"
  | "Address.AddressLine1"
  | "Address.AddressLine2"
  | "Address.Town"
  | "Address.County"
  | "Address.Postcode"
  | "Address.Country";

/** A URL that the site's changes are sent to. */
export interface Webhook {
  /** Assigned by the server and never reused. */
  readonly ID: number;
  /** The URL. Parts that may be secret are hidden, unless your key made the webhook. At most 2048 characters. */
  URL: string;
  /** Paths of the resources whose changes are sent, separated by spaces. Empty for all. At most 1024 characters. */
  Resources: string;
  /** `active`, `failing`, `paused` or `incomplete`. At most 20 characters. */
  Status: string;
  /** Why it has this status. Empty for `active`. At most 300 characters. */
  Detail: string;
  /** How many changes haven't been sent yet. With `Resources`, counting stops at about 10,000. Empty if unknown. At most 20 characters. */
  Behind: string;
  /** The cursor after the last change it has sent. At most 100 characters. */
  Cursor: string;
  /** When it was created. At most 24 characters. */
  Created: string;
  /** Prefix of the API key that made it. Empty if an operator did. At most 24 characters. */
  Key: string;
  /** The new secret, after the webhook was created or its secret rotated. Otherwise empty. At most 100 characters. */
  Secret: string;
}

/** The fields of a new record. Missing fields are stored empty. */
export interface NewWebhook {
  /** The URL that changes are posted to. At most 2048 characters. */
  URL: string;
  /** Paths of the resources whose changes are sent, separated by spaces. Empty for all that the key can read. Can't be changed. At most 1024 characters. */
  Resources?: string;
}

/** An attempt to deliver an event. Its ID is the attempt's number. */
export interface Delivery {
  /** Assigned by the server and never reused. */
  readonly ID: number;
  /** When the attempt began. At most 24 characters. */
  At: string;
  /** The receiver's status code. Empty if there was no response. At most 3 characters. */
  Status: string;
  /** How long the attempt took. At most 10 characters. */
  Milliseconds: string;
  /** What went wrong. Empty if nothing did. At most 500 characters. */
  Fault: string;
}

/** The last segment of a problem's `type`. */
export type ProblemCode =
  | "bad-request"
  | "invalid-record"
  | "ambiguous-id"
  | "unauthorized"
  | "forbidden"
  | "site-suspended"
  | "not-found"
  | "method-not-allowed"
  | "request-timeout"
  | "conflict"
  | "gone"
  | "precondition-failed"
  | "too-large"
  | "head-too-large"
  | "unsupported-media-type"
  | "wrong-site"
  | "idempotency-key-reused"
  | "too-many-requests"
  | "not-implemented"
  | "internal"
  | "unavailable";

/** The codes of field errors, with their parameters. */
export interface FieldErrorParameters {
  readonly "required": object;
  readonly "unknown-field": object;
  readonly "duplicate-field": object;
  readonly "read-only": object;
  readonly "wrong-type": { readonly expected: string };
  readonly "too-long": { readonly max: number };
  readonly "too-many": { readonly max: number };
  readonly "out-of-range": { readonly min: number; readonly max: number };
  readonly "invalid-id": object;
  readonly "invalid-choice": { readonly choices: readonly string[] };
  readonly "invalid-country": { readonly suggestion?: string };
  readonly "invalid-email": object;
  readonly "invalid-time": object;
  readonly "invalid-hostname": object;
  readonly "invalid-character": object;
  readonly "bad-pattern": { readonly pattern: string };
  readonly "stray-text": object;
  readonly "syntax": object;
  readonly "several-matches": { readonly count: number };
  readonly "duplicate-value": object;
  readonly "taken": object;
  readonly "invalid": object;
}

/** A collection per resource. */
export interface Collections {
  /** The brands. */
  readonly brands: WriteCollection<Brand, BrandPath, NewBrand>;
  /** The order statuses. */
  readonly orderStatuses: WriteCollection<OrderStatus, OrderStatusPath, NewOrderStatus>;
  /** The locations. */
  readonly locations: ReadCollection<Location, LocationPath>;
}

/** The type of the records in the feed of changes, by the name of their resource there. */
export interface FeedRecords {
  readonly brands: Brand;
  readonly orderstatuses: OrderStatus;
  readonly locations: Location;
}

/** The fields of a new record, by the name of their resource in the feed. */
export interface NewRecords {
  readonly brands: NewBrand;
  readonly orderstatuses: NewOrderStatus;
}

/** The path of each collection below `/restapi/`. */
export const paths: Readonly<Record<keyof Collections, keyof FeedRecords>> = {
  brands: "brands",
  orderStatuses: "orderstatuses",
  locations: "locations",
};
