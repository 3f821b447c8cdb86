import assert from 'node:assert/strict'
import { appendFile, copyFile, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { temporaryFolder } from '../support/service/data-folder.ts'
import { emptyDatabase, freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { sendOk, type Target } from '../support/service/send.ts'
import { type Service, startService, temporaryDataDir } from '../support/service/service.ts'
import { smallVolume } from '../support/service/small-volume.ts'
import { runSwitchyard } from '../support/service/switchyard-program.ts'
import { bash, configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const encryptionKey = Buffer.alloc(32, 7).toString('base64')
const passphrase = 'a long enough passphrase'
const folder = temporaryFolder()
const file = join(folder, 'first.backup')

const upstream = await startScriptedUpstream()
const config = configFor(upstream)
const stops: (() => Promise<unknown>)[] = []
after(async () => {
  upstream.release()
  for (const stop of stops.toReversed()) await stop()
  await upstream.stop()
})

async function start(databaseUrl: string): Promise<Service> {
  const service = await startService({ config, databaseUrl, dataDir: await temporaryDataDir() })
  stops.push(service.stop)
  return service
}

const asPrompt = (text: string) => ({ model: { modelID: 'scripted' }, parts: [{ type: 'text', text }] })
const create = async (on: Target, body: object = {}) => (await sendOk<Session>(on, 'POST /session', { body })).id
const send = (on: Target, id: string, text: string) =>
  sendOk<undefined>(on, `POST /session/${id}/prompt_async`, { body: asPrompt(text) })
const logOf = async (on: Target, id: string) =>
  (await sendOk<{ data: SessionEvent[] }>(on, `GET /v1/sessions/${id}/events?limit=500&after=0`)).data
const idle = (on: Target, id: string) =>
  eventually(async () => (await sendOk<Session>(on, `GET /session/${id}`)).status === 'idle', {
    withinMs: 120_000,
    what: `the idle session ${id}`,
  })

interface CommandOptions {
  readonly databaseUrl?: string
  /** Interrupts the command when it resolves. */
  readonly stop?: Promise<unknown>
  readonly dataDir?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Runs a command against its own database; prints JSON. */
async function command(args: readonly string[], { databaseUrl, dataDir, stop, env = {} }: CommandOptions) {
  const given = {
    HOME: folder,
    SWITCHYARD_DATA_DIR: dataDir ?? temporaryFolder(),
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl, SWITCHYARD_ENCRYPTION_KEY: encryptionKey }),
    ...env,
  }
  const ended = await runSwitchyard([...args, '--json'], given, stop)
  return { ...ended, json: () => JSON.parse(ended.stdout) }
}

/** The message of a command that must fail. */
async function failure(args: readonly string[], options: CommandOptions): Promise<string> {
  const { code, stderr } = await command(args, options)
  assert.notEqual(code, 0)
  return JSON.parse(stderr).error.message
}

const source = await freshDatabase()
const service = await start(source.url)
const finished = await create(service)
const running = await create(service)
const target = await emptyDatabase()

test('a backup of a service that writes is consistent, and a restored service continues from it', async () => {
  await sendOk(service, 'POST /api/vault', { body: { key: 'TOKEN', value: 'vault canary' } })
  const { key } = await sendOk<{ key: string }>(service, 'POST /api/keys', { body: { label: 'kept' } })
  const agent = await sendOk<{ id: string }>(service, 'POST /api/agents', { body: { name: 'Ada', owner_id: 'team' } })
  const schedule = {
    name: 'Daily',
    agent_id: agent.id,
    cron: '0 0 * * *',
    timezone: 'UTC',
    prompt: 'x',
    missed: 'once',
  }
  await sendOk(service, 'POST /api/schedules', { body: schedule })
  await send(service, finished, saying(bash('echo kept > kept.txt'), { text: 'done' }))
  await idle(service, finished)

  upstream.hold()
  const before = upstream.requests.length
  await send(service, running, 'in flight')
  await upstream.received(before + 1)
  let isWriting = true
  const writer = (async () => {
    while (isWriting) await create(service)
  })()
  const made = await command(['backup', file], { databaseUrl: source.url })
  isWriting = false
  await writer
  assert.equal(made.code, 0, made.stderr)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  const log = await logOf(service, finished)
  const inFlight = await logOf(service, running)
  assert.equal(made.json().manifest.encryption_key_ids.length, 1)
  assert.equal((await readFile(file)).includes(encryptionKey), false)
  await service.kill()
  upstream.release()

  const restored = await command(['restore', file], { databaseUrl: target.url })
  assert.equal(restored.code, 0, restored.stdout + restored.stderr)
  const report = restored.json()
  assert.deepEqual([report.runs, report.missing_key_ids, report.migrations], [1, [], []])
  assert.deepEqual(
    report.integrity.filter(({ count }: { count: number }) => count > 0),
    [],
  )

  const next = await start(target.url)
  assert.deepEqual(await logOf(next, finished), log)
  assert.deepEqual((await logOf(next, running)).slice(0, inFlight.length), inFlight)
  await idle(next, running)
  const ended = (await logOf(next, running)).filter(({ type }) => type === 'session.status_idle')
  assert.equal(ended.length, 1)
  assert.equal((await sendOk<{ agents: unknown[] }>({ ...next, key }, 'GET /api/agents')).agents.length, 1)
  await send(next, finished, saying(bash('cat kept.txt'), { text: 'read' }))
  await idle(next, finished)
  const results = (await logOf(next, finished)).filter(({ type }) => type === 'agent.tool_result')
  assert.match(JSON.stringify(results.at(-1)), /kept/)
})

test('ticks of schedules and deployments between backup and restore are skipped, and recorded as skipped', async () => {
  const database = await emptyDatabase()
  const dueFile = join(folder, 'due.backup')
  await source.pool.query(`
    insert into managed_deployments (id, owner_id, principal, name, agent_id, agent_version, start, metadata, cron, timezone)
    values ('depl_due', 'ana', 'ana', 'Report', 'agent_1', 1, '{}', '{}', '0 9 * * *', 'UTC')`)
  for (const table of ['schedules', 'managed_deployments'])
    await source.pool.query(`update ${table} set next_due_at = clock_timestamp() - interval '1 hour'`)
  assert.equal((await command(['backup', dueFile], { databaseUrl: source.url })).code, 0)
  const { code, json } = await command(['restore', dueFile], { databaseUrl: database.url })
  assert.equal(code, 0)
  const { skipped_schedules, skipped_deployments } = json()
  assert.deepEqual([skipped_schedules, skipped_deployments], [1, 1])
  const { rows } = await database.pool.query(
    'select s.next_due_at > clock_timestamp() as is_later, r.state from schedules s join schedule_runs r on r.schedule_id = s.id',
  )
  assert.deepEqual(rows, [{ is_later: true, state: 'skipped' }])
  const { rows: runs } = await database.pool.query(
    'select d.next_due_at > clock_timestamp() as is_later, r.error from managed_deployments d join deployment_runs r on r.deployment_id = d.id',
  )
  assert.equal(runs[0].is_later, true)
  assert.match(runs[0].error.message, /^skipped: restored from a backup of /)
})

test('every table and every row of the source are in the target', async () => {
  const database = await emptyDatabase()
  assert.equal((await command(['restore', file], { databaseUrl: database.url })).code, 0)
  const again = join(folder, 'again.backup')
  const made = await command(['backup', again], { databaseUrl: database.url })
  const first = (await command(['restore', file, '--check'], {})).json()
  const changed = new Set(['audit_log', 'schedule_runs', 'schedules', 'sessions'])
  const unchanged = (tables: { name: string }[]) => tables.filter(({ name }) => !changed.has(name))
  assert.deepEqual(unchanged(made.json().tables), unchanged(first.tables))
  const identities = 'select max(id) as last from budgets'
  assert.deepEqual((await database.pool.query(identities)).rows, (await source.pool.query(identities)).rows)
})

test('a database that is not empty stays unchanged without --replace, and is replaced with it', async () => {
  const count = async () => (await target.pool.query('select count(*) as sessions from sessions')).rows
  await stops.pop()?.()
  const before = await count()
  assert.match(await failure(['restore', file], { databaseUrl: target.url }), /not empty .*--replace/)
  assert.deepEqual(await count(), before)
  assert.equal((await command(['restore', file, '--replace'], { databaseUrl: target.url })).code, 0)
  const database = await emptyDatabase()
  await database.pool.query('create table other (id int)')
  assert.match(
    await failure(['restore', file, '--replace'], { databaseUrl: database.url }),
    /another program \(other\)/,
  )
})

test('a database that a service uses is not replaced', async () => {
  const live = await start((await freshDatabase()).url)
  const message = await failure(['restore', file, '--replace'], { databaseUrl: live.databaseUrl })
  assert.match(message, /a service uses this database; stop it first/)
})

test('an interrupted or damaged backup and other files are rejected before any change', async () => {
  const database = await emptyDatabase()
  const { size } = await stat(file)
  const rejected = async (change: (path: string) => Promise<unknown>, reason: RegExp) => {
    const path = join(temporaryFolder(), 'copy.backup')
    await copyFile(file, path)
    await change(path)
    assert.match(await failure(['restore', path], { databaseUrl: database.url }), reason)
  }
  for (const part of [0.1, 0.5, 0.99]) await rejected(path => truncate(path, Math.floor(size * part)), /incomplete/)
  await rejected(path => truncate(path, size - 1), /incomplete/)
  await rejected(path => truncate(path, 10), /not a Switchyard backup/)
  await rejected(path => writeFile(path, 'text'), /not a Switchyard backup/)
  for (const part of [0.3, 0.7]) {
    await rejected(async path => {
      const bytes = await readFile(path)
      const at = Math.floor(size * part)
      bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
      await writeFile(path, bytes)
    }, /damaged|incomplete/)
  }
  await rejected(path => appendFile(path, 'more'), /damaged/)
  const { rows } = await database.pool.query(`select to_regclass('sessions') as sessions`)
  assert.deepEqual(rows, [{ sessions: null }])
})

test('an encrypted backup needs its passphrase, and restores the encryption key only when it was included', async () => {
  const encrypted = join(folder, 'encrypted.backup')
  const given = { SWITCHYARD_BACKUP_PASSPHRASE: passphrase }
  const made = await command(['backup', encrypted, '--include-keys'], { databaseUrl: source.url, env: given })
  assert.equal(made.code, 0, made.stderr)
  assert.equal((await readFile(encrypted)).includes('session.status_idle'), false)
  assert.match(await failure(['restore', encrypted, '--check'], {}), /is encrypted; set its passphrase/)
  const wrong = { SWITCHYARD_BACKUP_PASSPHRASE: 'another passphrase' }
  assert.match(await failure(['restore', encrypted, '--check'], { env: wrong }), /wrong passphrase/)
  assert.match(await failure(['restore', file, '--check'], { env: given }), /not encrypted, but a passphrase is given/)

  const passphraseFile = join(folder, 'passphrase')
  await writeFile(passphraseFile, `${passphrase}\n`)
  const dataDir = temporaryFolder()
  const args = ['restore', encrypted, '--passphrase-file', passphraseFile]
  const database = await emptyDatabase()
  const env = { DATABASE_URL: database.url }
  const restored = await command(args, { dataDir, env })
  assert.equal(restored.code, 0, restored.stdout + restored.stderr)
  assert.equal(restored.json().has_written_keys, true)
  assert.equal(await readFile(join(dataDir, 'encryption.key'), 'utf8'), `${encryptionKey}\n`)
})

test('keys are not stored without a passphrase, and a restore without the key names it', async () => {
  const args = ['backup', join(folder, 'none.backup'), '--include-keys']
  assert.match(await failure(args, { databaseUrl: source.url }), /needs a passphrase/)
  const database = await emptyDatabase()
  const { code, json } = await command(['restore', file], { env: { DATABASE_URL: database.url } })
  assert.equal(code, 0)
  assert.equal(json().missing_key_ids.length, 1)
})

test('a backup of a server is restored into an embedded database, and that one is backed up while it runs', async () => {
  const dataDir = await temporaryDataDir()
  const restored = await command(['restore', file], { dataDir, env: { SWITCHYARD_ENCRYPTION_KEY: encryptionKey } })
  assert.equal(restored.code, 0, restored.stdout + restored.stderr)
  assert.equal(restored.json().database, 'embedded')
  const env = { SWITCHYARD_ENCRYPTION_KEY: encryptionKey }
  const embedded = await startService({ config, databaseUrl: '', dataDir, env })
  stops.push(embedded.stop)
  assert.ok((await logOf(embedded, finished)).length > 0)
  assert.match(await failure(['restore', file, '--replace'], { dataDir }), /in use by process/)
  const made = await command(['backup', folder], { dataDir })
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.json().file, /switchyard-\d{8}T\d{6}Z\.backup$/)
  await embedded.stop()
  const stopped = await command(['backup', join(folder, 'stopped.backup')], { dataDir })
  assert.equal(stopped.code, 0, stopped.stderr)
  const deep = await command(['doctor', '--deep'], { dataDir, env })
  const findings = deep.json().findings.filter(({ name }: { name: string }) => name === 'stored data')
  assert.ok(findings.length > 5)
  assert.ok(
    findings.every(({ state }: { state: string }) => state === 'ok'),
    JSON.stringify(findings),
  )
})

test('doctor --deep finds a missing event and a value of another key', async () => {
  const database = await emptyDatabase()
  assert.equal((await command(['restore', file], { databaseUrl: database.url })).code, 0)
  await database.pool.query('delete from session_events where session_id = $1 and seq = 2', [finished])
  await database.pool.query(`update vault_entries set version = version + 1`)
  const { code, json } = await command(['doctor', '--deep'], { databaseUrl: database.url })
  assert.equal(code, 1)
  const broken = json().findings.filter(
    ({ name, state }: { name: string; state: string }) => name === 'stored data' && state === 'fail',
  )
  assert.deepEqual(
    broken.map(({ detail }: { detail: string }) => detail.split('\n')[0]),
    [
      'broken: the events of every session are numbered without gaps (1 case)',
      'broken: every encrypted value can be decrypted (1 case)',
    ],
  )
  assert.ok(broken[0].detail.includes(finished))
})

test('a full disk leaves no file, and the error names the next step', async () => {
  const { url, pool } = await freshDatabase()
  // Random digits, which compression halves at best.
  await pool.query(`
    insert into audit_log (id, principal, role, action, object_id, after)
    select 'aud_' || n, 'p', 'admin', 'test', 'o', (select json_agg(md5(n || '.' || m)) from generate_series(1, 1000) m)
    from generate_series(1, 500) n`)
  const volume = smallVolume(4)
  assert.ok(volume, 'this user may not mount a file system')
  try {
    const message = await failure(['backup', volume.folder], { databaseUrl: url })
    assert.match(
      message,
      /could not back up: disk of .* is full \(ENOSPC\); free space there, or choose another folder/,
    )
    assert.deepEqual(await readdir(volume.folder), [])
  } finally {
    volume.unmount()
  }
})

test('Ctrl-C ends a backup without a file, and a restore without a change', async () => {
  const { url, pool } = await freshDatabase()
  const waiting = (name: string) =>
    eventually(
      async () => {
        const text = `select count(*)::int as waiting from pg_stat_activity
          where application_name = $1 and datname = current_database() and wait_event_type = 'Lock'`
        return (await pool.query<{ waiting: number }>(text, [name])).rows[0]?.waiting === 1
      },
      { withinMs: 120_000, what: `${name} that waits for a lock` },
    )
  const holding = await pool.connect()
  try {
    await holding.query('begin')
    await holding.query('lock table sessions in access exclusive mode')
    const place = temporaryFolder()
    const made = await command(['backup', place], { databaseUrl: url, stop: waiting('switchyard backup') })
    assert.equal(made.code, 130, made.stderr)
    assert.match(made.stderr, /interrupted; no file was written/)
    assert.deepEqual(await readdir(place), [])

    // It has no rows, so the restore is about to delete its tables.
    const args = ['restore', file]
    const restored = await command(args, { databaseUrl: url, stop: waiting('switchyard restore') })
    assert.equal(restored.code, 130, restored.stderr)
    assert.match(restored.stderr, /interrupted; the database is unchanged/)
  } finally {
    await holding.query('rollback')
    holding.release()
  }
  assert.deepEqual((await pool.query(`select to_regclass('replicas') is not null as is_there`)).rows, [
    { is_there: true },
  ])
})
