// Runs the transactions of database operations (store/database/transaction.ts), and commits everything that has changed something. No other file
// sends a commit for changes. All changes are made in transactions, except that tables are dropped and analyzed outside of them.

import { awaitLater } from "../../lib/concurrency.ts";
import { type ExecuteOperation, operations, transactionOf } from "../database/operations.ts";
import type { Row, Statement, StatementValues, Transaction } from "../database/transaction.ts";
import type { PostgresConnection, ResultRow } from "./connection.ts";
import { isCollision } from "./errors.ts";
import type { CallProgress, Pool } from "./pool.ts";
import { list, sql } from "./statements.ts";

/** Creates the function that runs operations on a pool's connections. @param timeoutMs the pool's time limit, in milliseconds */
export function createOperationExecutor(pool: Pool, timeoutMs: number): ExecuteOperation {
  return (name, args) => {
    const { kind } = operations[name];
    const createTransaction = () => transactionOf(name, args);
    if (kind === "read") return pool.read((connection) => readOnce(connection, createTransaction()));
    return repeatOnCollision(() =>
      kind === "loose"
        ? pool.use((connection) => changeLoosely(connection, timeoutMs, createTransaction()))
        : pool.commit((connection, progress) => changeDurably(connection, progress, timeoutMs, createTransaction())),
    );
  };
}

/**
 * Commits. When this returns, all changes are on durable storage, and on the synchronous standby, if there is one. If it fails, the outcome is
 * unknown, unless the database itself returned the error.
 * @param last statements to send together with the commit
 * @param sent results of earlier statements still in flight
 * @returns the rows of each statement in `last` that returns rows
 */
export async function commitTransaction(
  connection: PostgresConnection,
  progress: Pick<CallProgress, "markCommitting">,
  last = "",
  sent: readonly Promise<unknown>[] = [],
): Promise<ResultRow[][]> {
  connection.takeWarning();
  progress.markCommitting();
  const results = connection.script(last === "" ? sql.commit : `${last}; ${sql.commit}`);
  await awaitAll([...sent, results]);
  // If the wait for a standby is cancelled, PostgreSQL reports the commit as done, with a warning.
  const warning = connection.takeWarning();
  if (warning) throw new Error(warning);
  return results;
}

/** Commits changes that a crash may lose. Doesn't wait for the disk or a standby. @param last as for `commitTransaction` */
export function commitWithoutWait(connection: PostgresConnection, last = ""): Promise<ResultRow[][]> {
  return connection.script(last === "" ? sql.commitWithoutWait : `${last}; ${sql.commitWithoutWait}`);
}

/** Waits for all promises even if some reject, then throws the first error in the list. */
export async function awaitAll<T extends readonly unknown[]>(all: readonly Promise<unknown>[]): Promise<T> {
  const settled = await Promise.allSettled(all);
  for (const result of settled) if (result.status === "rejected") throw result.reason;
  return settled.map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as T;
}

/** Maximum attempts of a transaction, including the first. */
const maxAttempts = 5;

/** Runs a transaction, and repeats it if it conflicts with others. */
export async function repeatOnCollision<T>(transact: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transact();
    } catch (error) {
      if (attempt === maxAttempts || !isCollision((error as Error).cause ?? {})) throw error;
    }
  }
}

/** Runs a transaction of one statement, in one round trip. */
async function readOnce<R>(connection: PostgresConnection, transaction: Transaction<R>): Promise<R> {
  const first = transaction.next([]);
  if (first.done) return first.value;
  const sender = new StatementSender(connection);
  const [, rows] = await awaitAll<[unknown, readonly Row[]]>([
    connection.script(sql.beginLookUp),
    sender.send(first.value),
    connection.script(sql.endRead),
  ]);
  const last = transaction.next(rows);
  if (!last.done) throw new Error("an operation that reads has a second statement");
  return last.value;
}

function changeDurably<R>(
  connection: PostgresConnection,
  progress: CallProgress,
  timeoutMs: number,
  transaction: Transaction<R>,
): Promise<R> {
  return commitIfChanged(connection, timeoutMs, transaction, (last, sent) =>
    commitTransaction(connection, progress, last, sent),
  );
}

/** Runs a transaction whose changes a crash may lose. */
export function changeLoosely<R>(
  connection: PostgresConnection,
  timeoutMs: number,
  transaction: Transaction<R>,
): Promise<R> {
  return commitIfChanged(connection, timeoutMs, transaction, (last, sent) =>
    awaitAll([...sent, commitWithoutWait(connection, last)]),
  );
}

/** Runs a transaction, and ends it with `commit` if it has changed anything. @param commit gets what `takePending` returns */
async function commitIfChanged<R>(
  connection: PostgresConnection,
  timeoutMs: number,
  transaction: Transaction<R>,
  commit: (last: string, sent: readonly Promise<unknown>[]) => Promise<unknown>,
): Promise<R> {
  const sender = new StatementSender(connection, sql.beginByKeys(timeoutMs));
  const result = await sender.run(transaction);
  if (sender.hasChanged) await commit(...sender.takePending());
  else await connection.script("rollback");
  return result;
}

/** Runs a transaction's statements between the caller's begin and commit. */
export async function runStatements<R>(connection: PostgresConnection, transaction: Transaction<R>): Promise<R> {
  const { result, last, sent } = await sendStatements(connection, transaction);
  await awaitAll(last === "" ? sent : [...sent, connection.script(last)]);
  return result;
}

/**
 * The same, but without waiting for statements whose rows aren't needed. The caller sends the statements `last` together with the commit, and awaits
 * the results `sent`.
 */
export async function sendStatements<R>(connection: PostgresConnection, transaction: Transaction<R>) {
  const sender = new StatementSender(connection);
  const result = await sender.run(transaction);
  const [last, sent] = sender.takePending();
  return { result, last, sent };
}

/** A statement with parameters. */
type Prepared = Parameters<PostgresConnection["query"]>;

/**
 * Sends the statements of one transaction, which the database executes in order, without waiting for those that return no rows. Such a statement is
 * sent together with the next one if it has no parameters. Otherwise, it's sent right away and awaited later.
 */
class StatementSender {
  readonly #connection: PostgresConnection;
  /** Statements to send ahead of the next one. */
  #pending: string[];
  /** Results that haven't been awaited. */
  #sent: Promise<unknown>[] = [];
  /** The database's time at the last `queryForUpdate`, in milliseconds since 1970. */
  #now: number | undefined;
  hasChanged = false;

  /** @param begin statements that begin the transaction, if that hasn't happened */
  constructor(connection: PostgresConnection, begin?: string) {
    this.#connection = connection;
    this.#pending = begin === undefined ? [] : [begin];
  }

  /** Sends all statements of a transaction. Returns its result. */
  async run<R>(transaction: Transaction<R>): Promise<R> {
    let step = transaction.next([]);
    while (!step.done) step = transaction.next(await this.send(step.value));
    return step.value;
  }

  /** Sends a statement. Returns its rows; none if it changes rows and has no `returning` clause. */
  async send(statement: Statement): Promise<readonly Row[]> {
    switch (statement.kind) {
      case "query":
        return this.#ask(statement.sql, statement.values);
      case "queryForUpdate":
        return this.#lock(statement.sql, statement.values);
      case "findByKeys":
        return statement.keys.length === 0 ? [] : this.#askPrepared(sql.rowsByKeys(statement.table), statement.keys);
      case "now":
        if (this.#now === undefined) throw new Error("the transaction hasn't locked a row, so it has no time");
        return [{ now: this.#now }];
    }
    this.hasChanged = true;
    if (statement.kind === "execute") return this.#execute(statement.sql, statement.values);
    if (statement.rows.length > 0) this.#sendPrepared(toStore(statement), statement.rows);
    return [];
  }

  /** Returns the statements not sent yet and the results not awaited, for the caller to deal with. */
  takePending(): [last: string, sent: readonly Promise<unknown>[]] {
    const taken: [string, readonly Promise<unknown>[]] = [this.#pending.join("; "), this.#sent];
    this.#pending = [];
    this.#sent = [];
    return taken;
  }

  async #ask(text: string, values: StatementValues): Promise<readonly Row[]> {
    const { statement, parameters } = toPostgres(text, values);
    if (parameters.length > 0) return this.#askPrepared(statement, ...parameters);
    const [rows = []] = await this.#askPlain(statement);
    return rows;
  }

  /** Locks rows, and reads the database's time. */
  async #lock(text: string, values: StatementValues): Promise<readonly Row[]> {
    const { statement } = toPostgres(text, values);
    const [rows = [], times = []] = await this.#askPlain(`${statement} for update; ${sql.now}`);
    this.#now = times[0]?.now;
    return rows;
  }

  async #execute(text: string, values: StatementValues): Promise<readonly Row[]> {
    if (/\breturning\b/.test(text)) return this.#ask(text, values);
    const { statement, parameters } = toPostgres(text, values);
    if (parameters.length === 0) this.#pending.push(statement);
    else this.#sendPrepared(statement, ...parameters);
    return [];
  }

  /** Sends a statement without parameters, after the pending ones. Returns the rows of each statement that returns rows. */
  #askPlain(statement: string): Promise<ResultRow[][]> {
    const [pending, sent] = this.takePending();
    const answer = this.#connection.script(pending === "" ? statement : `${pending}; ${statement}`);
    return answerAfter(sent, answer);
  }

  /** Sends a statement with parameters, after the pending ones. Returns its rows. */
  #askPrepared(...statement: Prepared): Promise<readonly Row[]> {
    this.#sendPrepared(...statement);
    const [, sent] = this.takePending();
    return answerAfter(sent, sent.at(-1) as Promise<readonly Row[]>);
  }

  /** The same, without waiting. */
  #sendPrepared(...statement: Prepared): void {
    const [pending, sent] = this.takePending();
    const first = pending === "" ? [] : [this.#connection.script(pending)];
    const sending = [...first, this.#connection.query(...statement)].map(awaitLater<unknown>);
    this.#sent = [...sent, ...sending];
  }
}

/** After an error, the database rejects all later statements of the transaction, so throw the first one. */
async function answerAfter<T>(sent: readonly Promise<unknown>[], answer: Promise<T>): Promise<T> {
  await awaitAll([...sent, answer]);
  return answer;
}

function toStore({ kind, table, where }: Extract<Statement, { kind: "insert" | "upsert" }>): string {
  if (kind === "insert") return sql.insertInto(table);
  return where === undefined ? sql.upsertInto(table) : `${sql.upsertInto(table)} where ${where}`;
}

/**
 * Puts values into a statement. If they're all numbers, they become part of it, so that it's planned for them. Otherwise they become parameters: text
 * has to be one, and since a connection keeps every prepared statement, the text must be the same for all values.
 */
function toPostgres(text: string, values: StatementValues): { statement: string; parameters: (string | number)[] } {
  const hasTexts = Object.values(values).some((value) => typeof value === "string");
  const parameters: (string | number)[] = [];
  const statement = text.replaceAll(/:([a-z_]+)/gi, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the statement has no value for :${name}`);
    return hasTexts ? `$${parameters.push(value)}` : list([Number(value)]);
  });
  return { statement, parameters };
}
