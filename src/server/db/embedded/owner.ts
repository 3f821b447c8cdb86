import { Client } from 'pg'
import { pause } from '../../platform/timers.ts'
import { port } from './folders.ts'

/** Any number, as long as it never changes. */
const lockKey = 7_239_481_037

const ownerName = /^switchyard-owner\/(\d+)\//

/** Why no connection came about. `starting` and `absent` may pass; `refused` means that the server is another user's. */
type Absence = 'starting' | 'absent' | 'refused'

interface Visit {
  readonly socket: string
  /** Tells this owner from every other, also from one of the same process. */
  readonly token: string
}

/** A connection as the database's superuser, or why there is none. */
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
  // The loss of this connection is seen by its end event; unheard, the error would end the process.
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

/** Who else holds the lock of the data folder; undefined when it is ours now, for as long as `client` stays connected. */
export async function takeLock(client: Client, token: string): Promise<{ pid: number | undefined } | undefined> {
  const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [lockKey])
  if (rows[0]?.taken) return undefined
  const holders = await client.query<{ name: string }>(
    `select application_name as name from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and granted and (classid::bigint << 32) + objid::bigint = $1`,
    [lockKey],
  )
  const name = holders.rows[0]?.name ?? ''
  // Gone between the two statements, or an earlier connection of our own that the server has yet to miss: try again.
  if (name === '' || name.endsWith(`/${token}`)) {
    await pause(20)
    return takeLock(client, token)
  }
  const pid = Number(ownerName.exec(name)?.[1])
  return { pid: pid || undefined }
}

/** Makes the role and the database that the service uses. */
export async function provision(client: Client): Promise<void> {
  const roles = await client.query("select from pg_roles where rolname = 'switchyard'")
  if (roles.rowCount === 0) await client.query('create role switchyard login')
  const databases = await client.query("select from pg_database where datname = 'switchyard'")
  if (databases.rowCount === 0) await client.query('create database switchyard owner switchyard')
}
