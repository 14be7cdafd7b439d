// Generated from the declarations of the resources by `npm run openapi`. Do not edit.

import type { ReadCollection, WriteCollection } from "./record-collection.ts";

/** Telephone numbers, as people write them. */
export interface Telephone {
  /** Number to ring in the daytime. At most 64 characters. */
  Daytime: string;
  /** Number to ring in the evening. At most 64 characters. */
  Evening: string;
  /** Mobile number. At most 64 characters. */
  Mobile: string;
}

/** A postal address and the person there. */
export interface Address {
  /** The person's title. At most 32 characters. */
  Title: string;
  /** The person's first name. At most 128 characters. */
  Firstname: string;
  /** The person's surname. At most 128 characters. */
  Surname: string;
  /** House and street. At most 255 characters. */
  AddressLine1: string;
  /** A second line, where one is needed. At most 255 characters. */
  AddressLine2: string;
  /** Town or city. At most 128 characters. */
  Town: string;
  /** County, state or region. At most 128 characters. */
  County: string;
  /** Postal code. At most 32 characters. */
  Postcode: string;
  /** Country code of 2 or 3 letters, kept as sent. At most 3 characters. */
  Country: string;
}

/** A manufacturer. Catalog items can be allocated to it, for shopping and reporting. */
export interface Brand {
  /** Assigned by the server and never reused. */
  readonly ID: number;
  /** Brand name. Need not be unique. At most 255 characters. */
  Name: string;
  /** Account reference for the brand. At most 64 characters. */
  AccountNumber: string;
  /** Telephone numbers, as people write them. */
  Telephone: Telephone;
  /** A postal address and the person there. */
  Address: Address;
}

/** The fields of a new record. Missing fields are stored empty. */
export interface NewBrand {
  /** Brand name. Need not be unique. At most 255 characters. */
  Name: string;
  /** Account reference for the brand. At most 64 characters. */
  AccountNumber?: string;
  /** Telephone numbers, as people write them. */
  Telephone?: Partial<Telephone>;
  /** A postal address and the person there. */
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
  /** Label of the status. At most 255 characters. */
  Name: string;
}

/** The fields of a new record. Missing fields are stored empty. */
export interface NewOrderStatus {
  /** Label of the status. At most 255 characters. */
  Name: string;
}

/** The fields to change. Missing fields keep their values. */
export type OrderStatusChanges = Partial<NewOrderStatus>;

/** A field to sort or filter OrderStatus records by. */
export type OrderStatusPath =
  | "ID"
  | "Name";

/** A place where the shop sells. The operator maintains it; clients read it. */
export interface Location {
  /** Assigned by the server and never reused. */
  readonly ID: number;
  /** The operator's own code for the place. At most 64 characters. */
  Code: string;
  /** Name of the place. At most 255 characters. */
  Name: string;
  /** Who runs the place. At most 128 characters. */
  Manager: string;
  /** E-mail address of the place. At most 254 characters. */
  Email: string;
  /** Telephone numbers, as people write them. */
  Telephone: Telephone;
  /** A postal address and the person there. */
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

/** The last segment of a problem's `type`. */
export type ProblemCode =
  | "bad-request"
  | "invalid-record"
  | "ambiguous-id"
  | "unauthorized"
  | "forbidden"
  | "not-found"
  | "method-not-allowed"
  | "request-timeout"
  | "conflict"
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

/** A client of one website: a collection per resource. */
export interface StorefrontClient {
  /** The brands. */
  readonly brands: WriteCollection<Brand, BrandPath, NewBrand>;
  /** The order statuses. */
  readonly orderStatuses: WriteCollection<OrderStatus, OrderStatusPath, NewOrderStatus>;
  /** The locations. */
  readonly locations: ReadCollection<Location, LocationPath>;
}

/** The path of each collection below `/restapi/`. */
export const paths: Readonly<Record<keyof StorefrontClient, string>> = {
  brands: "brands",
  orderStatuses: "orderstatuses",
  locations: "locations",
};
