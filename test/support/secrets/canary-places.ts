import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { Client } from 'pg'
import { createRowCipher } from '../../../src/server/db/encrypted-rows.ts'
import { createKeyring } from '../../../src/server/platform/encryption.ts'
import type { Canary } from './canaries.ts'

/** Content of the places where a secret may be. */
export type Place = readonly [name: string, content: Buffer | string]

/**
 * A line a row of every table, `bytea` in hex, and what the service has sealed for itself, opened, so that it can be
 * searched too.
 */
export async function tablePlaces(url: string, encryptionKey: Buffer) {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows: names } = await client.query<{ name: string }>(`
      select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')`)
    assert.ok(names.length > 15, 'there are tables')
    const tables: Place[] = []
    for (const { name } of names) {
      const { rows } = await client.query<{ row: string }>(`select row_to_json(t)::text as row from ${name} t`)
      tables.push([`table ${name}`, rows.map(({ row }) => row).join('\n')])
    }
    const cipher = createRowCipher(createKeyring([encryptionKey]), 'service_secrets')
    const { rows: own } = await client.query('select name, version::int, sealed from service_secrets')
    const ownSecrets = own.map((row): Canary => ({ name: `service secret ${row.name}`, core: cipher.decrypt(row) }))
    assert.ok(ownSecrets.length > 0, 'the service has secrets of its own')
    return { tables, ownSecrets }
  } finally {
    await client.end()
  }
}

/** What other users of the machine can see of a service and of what it started, and what its children were given. */
export function processPlaces(servicePid: number): Place[] {
  const parentOf = new Map<number, number>()
  for (const pid of readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)) {
    const stat = readOrNothing(`/proc/${pid}/stat`).toString()
    parentOf.set(pid, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
  }
  const isOurs = (pid: number): boolean => pid === servicePid || (pid > 1 && isOurs(parentOf.get(pid) ?? 0))
  const ours = [...parentOf.keys()].filter(isOurs)
  assert.ok(ours.length > 1, 'the database runs')
  return ours.flatMap((pid): Place[] => [
    [`arguments of ${pid}`, readOrNothing(`/proc/${pid}/cmdline`)],
    [`environment of ${pid === servicePid ? 'the service' : 'a child'}`, readOrNothing(`/proc/${pid}/environ`)],
  ])
}

/** Empty when the process has ended meanwhile. */
function readOrNothing(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch {
    return Buffer.alloc(0)
  }
}

/** Every file in a folder, without those behind links. */
export const filePlaces = (folder: string): Place[] =>
  filesIn(folder).map((path): Place => [`file ${relative(folder, path)}`, readFileSync(path)])

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return filesIn(path)
    return entry.isFile() ? [path] : []
  })
}
