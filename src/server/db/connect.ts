import { Kysely, PostgresDialect } from 'kysely'
import { DatabaseError, Pool, type PoolClient, types } from 'pg'
import { DatabaseUnavailable } from '../platform/errors.ts'
import { collectHints, sendHints, takeHints } from './hints.ts'
import type { Database } from './types.ts'

interface PoolOptions {
  /** `postgres://user:password@host/database`; a socket folder is given as `?host=/folder`. */
  readonly url: string
  /** Connections at most, 10 by default. */
  readonly max?: number
  /** The name in the database's own list of connections. */
  readonly applicationName?: string
  /** After this the database gives up a statement; 30,000 by default. */
  readonly statementTimeoutMs?: number
  /** How long to wait for a free or a new connection; 5,000 by default. */
  readonly connectTimeoutMs?: number
  /** Told when an idle connection is lost. The pool makes a new one by itself at the next query. */
  readonly onLost: (error: Error) => void
}

const int8 = types.builtins.INT8

/** int8 as a number (counters of ours stay far below 2^53); every other type as pg has it, numeric as text. */
const parsers = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === int8 && format !== 'binary' ? Number : types.getTypeParser(oid, format),
}

/**
 * A pool of connections that outlives the loss of any of them. End it with `end()`. Its calls, and those of its
 * clients, reject with `DatabaseUnavailable` where the database cannot work, so that no caller has to recognise that.
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
    // A connection that a firewall or a failover left dead is replaced after this at the latest.
    maxLifetimeSeconds: 300,
    keepAlive: true,
    // Above the limit of the server, so that it only speaks when the server is out of reach.
    query_timeout: statementTimeoutMs + 10_000,
    // Not as start parameters: connection poolers refuse those.
    onConnect: client => client.query(limits(statementTimeoutMs)),
  })
  pool.on('error', onLost)
  // A client that is out on loan has no listener of the pool, and an unheard error event would end the process.
  // Nothing is lost here: its query or the next one fails with the same cause.
  pool.on('connect', client => {
    client.on('error', () => undefined)
    client.query = translating(client.query.bind(client))
  })
  pool.query = translating(pool.query.bind(pool))
  pool.connect = translating(pool.connect.bind(pool))
  return pool
}

/** The same call; its promise rejects as `asUnavailable` says. Calls with a callback stay as they are. */
const translating = <F>(call: F & ((...args: never[]) => unknown)): F =>
  ((...args: never[]) => {
    const result = call(...args)
    return result instanceof Promise ? result.catch(rethrowTranslated) : result
  }) as F

const rethrowTranslated = (error: unknown): never => {
  throw asUnavailable(error)
}

/** The second limit: a paused process must not hold locks for as long as its leases live, 15 s. */
const limits = (statementTimeoutMs: number) =>
  `set statement_timeout = ${Math.round(statementTimeoutMs)}; set idle_in_transaction_session_timeout = 10000`

/** Kysely over a pool of `createPool`. The pool stays the caller's to end. */
export const createKysely = (pool: Pool): Kysely<Database> =>
  new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })

/** Kysely in the transaction that a connection has open. */
export const kyselyOn = (client: PoolClient): Kysely<Database> => {
  const borrowed = { query: client.query.bind(client), release: () => undefined }
  const pool = { connect: async () => borrowed, end: async () => undefined } as unknown as Pool
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
}

/**
 * What `work` returns, after the commit. When `work` throws, nothing of it stays. `unavailable` when the database is
 * away; its message says so when the answer to the commit was lost, since the change may then be in effect.
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
    await abandon(client, error)
    throw error
  }
  const hints = takeHints(client)
  await commit(client)
  sendHints(pool, hints)
  return result
}

/** Gives the connection back clean, or closes it when its state is in doubt. */
async function abandon(client: PoolClient, error: unknown): Promise<void> {
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
      'the database went away while it saved; the change may or may not be in effect',
      error,
    )
  })
  client.release()
  // PostgreSQL answers so when a statement failed and `work` went on as if it had not.
  if (command === 'ROLLBACK') throw new Error('the transaction was rolled back: a failed statement was ignored')
}

/** SQLSTATEs with which a server ends or refuses a connection. Source: PostgreSQL manual, appendix A. */
const lostStates = new Set(['57P01', '57P02', '57P03', '57P05', '25P03', '53300'])

/**
 * States in which the server cannot do the work now: read-only, a lock, a statement or the disk took too long, or
 * other transactions were in the way.
 */
const stuckStates = new Set(['25006', '40001', '40P01', '55P03', '57014', '58030'])

const lostCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** pg gives these errors no code. */
const lostTexts = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'is not queryable',
  'Cannot use a pool after calling end',
]

/** True when the connection was lost or could not be made; a statement on its way may then be done or not. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof DatabaseUnavailable) return isConnectionLoss(error.cause)
  const code = 'code' in error ? String(error.code) : ''
  if (error instanceof DatabaseError) return code.startsWith('08') || lostStates.has(code)
  // No socket file: the server of that folder does not run.
  if (code === 'ENOENT') return 'syscall' in error && error.syscall === 'connect'
  return lostCodes.has(code) || lostTexts.some(text => error.message.includes(text))
}

/** True for a row that is there already. */
export const isUniqueViolation = (error: unknown): boolean => error instanceof DatabaseError && error.code === '23505'

/** `DatabaseUnavailable` (503) for an error that says the database cannot work now; any other error as it is. */
export function asUnavailable(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable) return error
  const isStuck = error instanceof DatabaseError && /^53/.test(error.code ?? '')
  if (!isStuck && !isStateStuck(error) && !isConnectionLoss(error)) return error
  return new DatabaseUnavailable('the database does not answer; try again', error)
}

const isStateStuck = (error: unknown) => error instanceof DatabaseError && stuckStates.has(error.code ?? '')
