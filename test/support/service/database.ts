import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import type { Kysely } from 'kysely'
import { Client, type Pool } from 'pg'
import { dropDatabase } from '../../../scripts/drop-database.ts'
import { createKysely, createPool } from '../../../src/server/db/connect.ts'
import type { Database } from '../../../src/server/db/database.ts'
import { sendHintsBy } from '../../../src/server/db/hints.ts'

interface FreshDatabase {
  readonly url: string
  readonly pool: Pool
  readonly db: Kysely<Database>
  /** Ends the pool and drops the database; runs by itself after the last test of the file. */
  drop(): Promise<void>
}

/** A separate database with every migration applied, copied from the run's template. Needs `npm test -- <file>`. */
export async function freshDatabase(): Promise<FreshDatabase> {
  const { adminUrl, template } = ofTheRun()
  const name = `${template}_${randomBytes(6).toString('hex')}`
  await asAdmin(adminUrl, admin => admin.query(`create database ${name} template ${template}`))
  const url = urlOf(adminUrl, name)
  const pool = createPool({ url, max: 5, onLost: () => undefined })
  // In their order, as the service sends them.
  let sending: Promise<unknown> = Promise.resolve()
  sendHintsBy(pool, (channel, payload) => {
    const send = () => pool.query('select pg_notify($1, $2)', [channel, payload])
    sending = sending.then(send).catch(() => undefined)
  })
  let dropped: Promise<void> | undefined
  const drop = async () => {
    await pool.end()
    await asAdmin(adminUrl, admin => dropDatabase(admin, name))
  }
  const dropOnce = () => {
    dropped ??= drop()
    return dropped
  }
  after(dropOnce)
  return { url, pool, db: createKysely(pool), drop: dropOnce }
}

/** An empty database on the run's server, without the migrations; dropped after the last test of the file. */
export async function emptyDatabase(): Promise<Pick<FreshDatabase, 'url' | 'pool'>> {
  const { adminUrl, template } = ofTheRun()
  const name = `${template}_${randomBytes(6).toString('hex')}`
  await asAdmin(adminUrl, admin => admin.query(`create database ${name} template template0`))
  const url = urlOf(adminUrl, name)
  const pool = createPool({ url, max: 5, onLost: () => undefined })
  after(async () => {
    await pool.end()
    await asAdmin(adminUrl, admin => dropDatabase(admin, name))
  })
  return { url, pool }
}

function ofTheRun(): { adminUrl: string; template: string } {
  const adminUrl = process.env['SWITCHYARD_TEST_DATABASE_URL']
  const template = process.env['SWITCHYARD_TEST_TEMPLATE']
  if (adminUrl && template) return { adminUrl, template }
  throw new Error('this test needs a database: run it with "npm test -- <file>"')
}

async function asAdmin(url: string, work: (admin: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

/** The same server and user, another database. `URL` rejects an address without a host, as of a socket. */
function urlOf(adminUrl: string, database: string): string {
  const url = new URL(adminUrl.replace('@/', '@localhost/'))
  url.pathname = `/${database}`
  return url.href
}
