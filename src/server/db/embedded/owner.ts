import { Client } from 'pg'
import { pause } from '../../platform/timers.ts'
import { port } from './folders.ts'

/** Arbitrary, but must never change. */
const lockKey = 7_239_481_037

const ownerName = /^switchyard-owner\/(\d+)\//

/**
 * Reason for a failed connection. `starting` and `absent` are temporary; `refused` means that another user runs the
 * server.
 */
type Absence = 'starting' | 'absent' | 'refused'

interface Visit {
  readonly socket: string
  /** Identifies this owner, even among several in one process. */
  readonly token: string
}

/** Returns a connection as superuser, or the reason why it failed. */
export async function visit({ socket, token }: Visit): Promise<Client | Absence> {
  const client = new Client({
    host: socket,
    port,
    user: 'postgres',
    database: 'postgres',
    ssl: false,
    application_name: `switchyard-owner/${process.pid}/${token}`,
    connectionTimeoutMillis: 2_000,
  })
  // The end event reports a lost connection; an unhandled error event would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return client
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return 'absent'
    return code.startsWith('28') || code === 'EACCES' ? 'refused' : 'starting'
  }
}

/** Takes the lock of the data folder while `client` stays connected; undefined on success, else the current holder. */
export async function takeLock(client: Client, token: string): Promise<{ pid: number | undefined } | undefined> {
  const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [lockKey])
  if (rows[0]?.taken) return undefined
  const holders = await client.query<{ name: string }>(
    `select application_name as name from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and granted and (classid::bigint << 32) + objid::bigint = $1`,
    [lockKey],
  )
  const name = holders.rows[0]?.name ?? ''
  // Released between the two statements, or held by our previous connection that the server has not closed: retry.
  if (name === '' || name.endsWith(`/${token}`)) {
    await pause(20)
    return takeLock(client, token)
  }
  const pid = Number(ownerName.exec(name)?.[1])
  return { pid: pid || undefined }
}

/** Creates the role and the database of the service if missing. */
export async function provision(client: Client): Promise<void> {
  const roles = await client.query("select from pg_roles where rolname = 'switchyard'")
  if (roles.rowCount === 0) await client.query('create role switchyard login')
  const databases = await client.query("select from pg_database where datname = 'switchyard'")
  if (databases.rowCount === 0) await client.query('create database switchyard owner switchyard')
}
