// Every statement of the engine. Numbers are written into a statement; text is always a parameter.
//
// They stay within what Citus, CockroachDB and YugabyteDB have: no advisory locks, no LISTEN, no sequences, and every
// one that touches a site names it.

import { removedEpoch, selectDeleted, selectUndropped } from "../removed-sites.ts";

/** What a transaction may hold up others for at least, in milliseconds, when its process falls silent. */
const silence = 10_000;

/** Most rows of a removed site that one transaction deletes. */
const mostDropped = 2000;

/** What tells a row from the others of its site. */
const keys = { records: "resource, id", journal: "revision", idempotency: "key_id, name" } as const;

export const sql = {
  heads: (sites: readonly number[]) => `select id, revision, epoch from sites where id in (${list(sites)})`,

  /** Begins a transaction that reads one moment. */
  beginRead: "begin isolation level repeatable read read only",
  end: "commit",

  rows: (site: number) =>
    `select resource, id, revision, body from records where site_id = ${list([site])} order by resource, id`,

  since: (site: number, revision: number, limit: number) =>
    `select revision, at, actor, resource, id, operation, body from journal
where site_id = ${list([site])} and revision > ${list([revision])} order by revision limit ${list([limit])}`,

  /** Begins a transaction that waits for others a little shorter than this program waits for it. */
  begin: (timeout: number) =>
    `begin; set local statement_timeout = ${list([timeout])}; set local lock_timeout = ${list([Math.ceil(timeout * 0.8)])}; set local idle_in_transaction_session_timeout = ${list([Math.max(silence, timeout)])}`,

  lockSites: (sites: readonly number[]) =>
    `select id, epoch, revision, counters from sites where id in (${list(sites)}) order by id for update`,

  addSites: `insert into sites (id, epoch, revision, counters)
select id, epoch, 0, '{}' from json_to_recordset($1::json) as s (id bigint, epoch text) order by id
on conflict (id) do nothing`,

  fetchRows: `select r.site_id, r.resource, r.id, r.revision, r.body
from json_to_recordset($1::json) as w (site bigint, resource text, id bigint)
join records r on r.site_id = w.site and r.resource = w.resource and r.id = w.id`,

  fetchResponses: `select i.site_id, i.key_id, i.name, i.digest, i.at, i.operation, i.id, i.revision, i.body
from json_to_recordset($1::json) as w (site bigint, key bigint, name text)
join idempotency i on i.site_id = w.site and i.key_id = w.key and i.name = w.name`,

  putRows: `insert into records (site_id, resource, id, revision, body)
select site_id, resource, id, revision, body
from json_to_recordset($1::json) as r (site_id bigint, resource text, id bigint, revision bigint, body text)
on conflict (site_id, resource, id) do update set revision = excluded.revision, body = excluded.body`,

  addChanges: `insert into journal (site_id, revision, at, actor, resource, id, operation, body)
select site_id, revision, at, actor, resource, id, operation, body
from json_to_recordset($1::json) as c (site_id bigint, revision bigint, at bigint, actor text, resource text, id bigint, operation text, body text)`,

  putSites: `update sites set revision = s.revision, counters = s.counters
from json_to_recordset($1::json) as s (id bigint, revision bigint, counters text) where sites.id = s.id`,

  putResponses: `insert into idempotency (site_id, key_id, name, digest, at, operation, id, revision, body)
select site_id, key_id, name, digest, at, operation, id, revision, body
from json_to_recordset($1::json) as i (site_id bigint, key_id bigint, name text, digest text, at bigint, operation text, id bigint, revision bigint, body text)
on conflict (site_id, key_id, name) do update set digest = excluded.digest, at = excluded.at,
  operation = excluded.operation, id = excluded.id, revision = excluded.revision, body = excluded.body`,

  // A statement that looks for any expired response of these sites would now and then be planned to go through the whole table.
  oldestResponses: (after: number, limit: number) =>
    `select id, (select at from idempotency where site_id = sites.id order by at limit 1) as oldest
from sites where id > ${list([after])} order by id limit ${list([limit])}`,

  deleteExpiredResponses: (site: number, before: number, limit: number) =>
    `delete from idempotency where site_id = ${list([site])} and (key_id, name) in (select key_id, name from idempotency
where site_id = ${list([site])} and at <= ${list([before])} order by at limit ${list([limit])}) returning site_id`,

  // An entry of the journal, as every write adds one, of no site and gone again before anyone can see it. It is as long as an
  // entry that is not compressed may be, so that it needs room on the disk as others do.
  tryWrite: `insert into journal (site_id, revision, at, actor, resource, id, operation, body)
values (-1, floor(random() * 9e15)::bigint, 0, '', '', 9007199254740991, '', repeat('x', 1500)); delete from journal where site_id = -1`,

  // A statement's time limit would also cut short the wait for a synchronous standby, and the commit would be reported
  // as done without it.
  commit: "set local statement_timeout = 0; commit",

  // For what may be lost: its commit is done at once, while a standby is away too.
  waitForNothing: "set local synchronous_commit = off",

  noteUses: `insert into key_uses (key_id, at) select key_id, at from json_to_recordset($1::json) as u (key_id bigint, at bigint)
order by key_id on conflict (key_id) do update set at = greatest(key_uses.at, excluded.at)`,

  uses: "select key_id, at from key_uses",

  closeSite: (site: number) =>
    `insert into sites (id, epoch, revision, counters) values (${list([site])}, '${removedEpoch}', 0, '{}')
on conflict (id) do update set epoch = excluded.epoch, revision = excluded.revision, counters = excluded.counters`,

  /** A row where the record of this site was deleted. */
  deletedSite: (site: number) => selectDeleted(list([site])),

  dropRows: (table: keyof typeof keys, site: number) =>
    `delete from ${table} where site_id = ${list([site])} and (${keys[table]}) in (
select ${keys[table]} from ${table} where site_id = ${list([site])} limit ${mostDropped}) returning 1`,

  undroppedSites: selectUndropped,
} as const;

/** Whole numbers as SQL writes them; anything else must not get into a statement. */
function list(numbers: readonly number[]): string {
  for (const number of numbers) if (!Number.isSafeInteger(number)) throw new Error(`${number} is no whole number`);
  return numbers.join(", ");
}
