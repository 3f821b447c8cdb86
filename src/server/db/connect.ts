import { Kysely, PostgresDialect } from 'kysely'
import { Client, type ClientBase, DatabaseError, Pool, type PoolClient, types } from 'pg'
import { DatabaseUnavailable } from '../platform/errors.ts'
import type { Database } from './database.ts'
import { collectHints, sendHints, takeHints } from './hints.ts'

interface PoolOptions {
  /** `postgres://user:password@host/database`; a socket folder is given as `?host=/folder`. */
  readonly url: string
  /** Maximum number of connections; 10 by default. */
  readonly max?: number
  /** Name in `pg_stat_activity`. */
  readonly applicationName?: string
  /** Statement timeout; 30,000 by default. */
  readonly statementTimeoutMs?: number
  /** How long to wait for a free or a new connection; 5,000 by default. */
  readonly connectTimeoutMs?: number
  /** Called when an idle connection is lost. The pool reconnects at the next query. */
  readonly onLost: (error: Error) => void
}

const int8 = types.builtins.INT8

/** Parses int8 as a number (our counters stay far below 2^53); other types as in pg, numeric as text. */
const parsers = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === int8 && format !== 'binary' ? Number : types.getTypeParser(oid, format),
}

/**
 * Returns a pool of connections that survives lost connections. The caller must call `end()`. Calls of the pool and its
 * clients reject with `DatabaseUnavailable` if the database is unavailable, so that callers need not detect that.
 */
export function createPool({ url, onLost, ...options }: PoolOptions): Pool {
  const statementTimeoutMs = options.statementTimeoutMs ?? 30_000
  const pool = new Pool({
    connectionString: url,
    max: options.max ?? 10,
    application_name: options.applicationName ?? 'switchyard',
    types: parsers,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    idleTimeoutMillis: 30_000,
    // Bounds how long a connection lives that a firewall or failover has silently dropped.
    maxLifetimeSeconds: 300,
    keepAlive: true,
    // Above the timeout of the server, so that it only applies if the server is unreachable.
    query_timeout: statementTimeoutMs + 10_000,
    // Not as startup parameters, which connection poolers reject.
    onConnect: client => client.query(limits(statementTimeoutMs)),
  })
  pool.on('error', onLost)
  // The pool does not listen to checked-out clients, and an unhandled error event would end the process. The error is
  // not lost: the current or next query fails with the same cause.
  pool.on('connect', client => {
    client.on('error', () => undefined)
    client.query = withTranslatedErrors(client.query.bind(client))
  })
  pool.query = withTranslatedErrors(pool.query.bind(pool))
  pool.connect = withTranslatedErrors(pool.connect.bind(pool))
  return pool
}

/**
 * Connects outside of a pool, without timeouts, for statements that run for hours. The caller must call `end()`. COPY
 * in the client of a pool ends after the query timeout.
 */
export async function connectAlone(url: string, applicationName: string): Promise<Client> {
  const client = new Client({
    connectionString: url,
    application_name: applicationName,
    types: parsers,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  })
  // An unhandled error event would end the process; the current or next query fails with the same cause.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0')
    return client
  } catch (error) {
    await client.end().catch(() => undefined)
    throw asUnavailable(error)
  }
}

/** Ends a connection when `stop` aborts: its current and next queries fail. Returns a function that undoes this. */
export function endOnStop(client: Client, stop: AbortSignal | undefined): () => void {
  const end = () => void client.end()
  if (stop?.aborted) end()
  stop?.addEventListener('abort', end)
  return () => stop?.removeEventListener('abort', end)
}

/** Wraps a call so that its promise rejects with `asUnavailable`. Calls with a callback stay unchanged. */
const withTranslatedErrors = <F>(call: F & ((...args: never[]) => unknown)): F =>
  ((...args: never[]) => {
    const result = call(...args)
    return result instanceof Promise ? result.catch(rethrowTranslated) : result
  }) as F

const rethrowTranslated = (error: unknown): never => {
  throw asUnavailable(error)
}

/** The second limit keeps a paused process from holding locks for the whole lifetime of its leases, 15 s. */
const limits = (statementTimeoutMs: number) =>
  `set statement_timeout = ${Math.round(statementTimeoutMs)}; set idle_in_transaction_session_timeout = 10000`

/** Returns Kysely over a pool of `createPool`. The caller still must end the pool. */
export const createKysely = (pool: Pool): Kysely<Database> =>
  new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })

/** Returns Kysely in the open transaction of a connection. */
export const kyselyOn = (client: ClientBase): Kysely<Database> => {
  const borrowed = { query: client.query.bind(client), release: () => undefined }
  const pool = { connect: async () => borrowed, end: async () => undefined } as unknown as Pool
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
}

/**
 * Runs `work` in a transaction; returns its result after the commit. Rolls back if `work` throws. Rejects with
 * `unavailable` if the database is unavailable; after a connection loss during commit the message says that the change
 * may be in effect.
 */
export async function transaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let result: T
  collectHints(client)
  try {
    await client.query('begin')
    result = await work(client)
  } catch (error) {
    takeHints(client)
    await rollBack(client, error)
    throw error
  }
  const hints = takeHints(client)
  await commit(client)
  sendHints(pool, hints)
  return result
}

/** Rolls back and releases the connection, or closes it if its state is uncertain. */
async function rollBack(client: PoolClient, error: unknown): Promise<void> {
  if (isConnectionLoss(error)) return client.release(true)
  const isClean = await client.query('rollback').then(
    () => true,
    () => false,
  )
  client.release(!isClean)
}

async function commit(client: PoolClient): Promise<void> {
  const { command } = await client.query('commit').catch(error => {
    client.release(true)
    if (!isConnectionLoss(error)) throw error
    throw new DatabaseUnavailable(
      'database connection was lost during commit; the change may or may not be in effect',
      error,
    )
  })
  client.release()
  // PostgreSQL returns ROLLBACK if a statement failed and `work` ignored the error.
  if (command === 'ROLLBACK') throw new Error('the transaction was rolled back: a failed statement was ignored')
}

/** SQLSTATEs of terminated or rejected connections. Source: PostgreSQL manual, appendix A. */
const lostStates: ReadonlySet<string> = new Set(['57P01', '57P02', '57P03', '57P05', '25P03', '53300'])

/**
 * SQLSTATEs of temporary failures: read-only server, lock or statement timeout, I/O error, or conflict with other
 * transactions.
 */
const stuckStates: ReadonlySet<string> = new Set(['25006', '40001', '40P01', '55P03', '57014', '58030'])

const lostCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** Messages of pg errors without a code. */
const lostTexts = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'is not queryable',
  'Cannot use a pool after calling end',
]

/** True if the connection was lost or could not be opened. A statement in flight may or may not have been executed. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof DatabaseUnavailable) return isConnectionLoss(error.cause)
  const code = 'code' in error ? String(error.code) : ''
  if (error instanceof DatabaseError) return code.startsWith('08') || lostStates.has(code)
  // No socket file: the server is not running.
  if (code === 'ENOENT') return 'syscall' in error && error.syscall === 'connect'
  return lostCodes.has(code) || lostTexts.some(text => error.message.includes(text))
}

/** True for a violated unique constraint. */
export const isUniqueViolation = (error: unknown): boolean => error instanceof DatabaseError && error.code === '23505'

/** Returns `DatabaseUnavailable` (503) for errors of an unavailable database; other errors unchanged. */
export function asUnavailable(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable) return error
  const isStuck = error instanceof DatabaseError && /^53/.test(error.code ?? '')
  if (!isStuck && !isStateStuck(error) && !isConnectionLoss(error)) return error
  return new DatabaseUnavailable('database is unavailable; retry in a few seconds', error)
}

const isStateStuck = (error: unknown) => error instanceof DatabaseError && stuckStates.has(error.code ?? '')
