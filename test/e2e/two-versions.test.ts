import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { faultsOf } from '../../bench/log-check.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { temporaryFolder } from '../support/service/data-folder.ts'
import { emptyDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { sendOk, type Target } from '../support/service/send.ts'
import { type Service, startService, temporaryDataDir } from '../support/service/service.ts'
import { runSwitchyard } from '../support/service/switchyard-program.ts'
import { unpackCommit, versionBefore } from '../support/service/version-before.ts'
import { configFor } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const commit = versionBefore()
const skip = commit === undefined && 'needs the history of the repository: clone it without --depth'
if (skip && process.env['CI']) throw new Error(skip)

const sessionsOfEach = 4
const promptsOfEach = 6

const asPrompt = (text: string) => ({ model: { modelID: 'scripted' }, parts: [{ type: 'text', text }] })
const create = async (on: Target) => (await sendOk<Session>(on, 'POST /session', { body: {} })).id
const prompt = (on: Target, id: string, text: string) =>
  sendOk<undefined>(on, `POST /session/${id}/prompt_async`, { body: asPrompt(text) })
const logOf = async (on: Target, id: string) =>
  (await sendOk<{ data: SessionEvent[] }>(on, `GET /v1/sessions/${id}/events?limit=500&after=0`)).data
const idle = (on: Target, id: string) =>
  eventually(async () => (await sendOk<Session>(on, `GET /session/${id}`)).status === 'idle', {
    withinMs: 240_000,
    what: `the idle session ${id}`,
  })
const textsOf = (id: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => `${id} ${from + at}`)

test('F35: the version before the last migration and this one serve one database, under load and after kills', {
  skip,
}, async () => {
  const tree = join(temporaryFolder(), 'before')
  unpackCommit(commit ?? '', tree)
  const stops: (() => Promise<unknown>)[] = []
  after(async () => {
    for (const stop of stops.toReversed()) await stop()
  })
  const upstream = await startScriptedUpstream()
  stops.push(upstream.stop)
  const { url: databaseUrl, pool } = await emptyDatabase()
  const start = async (root?: string): Promise<Service> => {
    const options = { config: configFor(upstream), databaseUrl, dataDir: await temporaryDataDir() }
    const service = await startService({ ...options, ...(root !== undefined && { tree: root }) })
    stops.push(service.kill)
    return service
  }
  const applied = async () =>
    (await pool.query<{ name: string }>('select name from schema_migrations order by 1')).rows.map(({ name }) => name)
  const shipped = (root: string) => readdirSync(join(root, 'src', 'server', 'db', 'migrations')).toSorted()

  const before = await start(tree)
  assert.deepEqual(await applied(), shipped(tree))
  const ids: string[] = []
  for (let at = 0; at < sessionsOfEach; at++) ids.push(await create(before))
  // The load continues while this version starts and migrates.
  const load = Promise.all(
    ids.map(async id => {
      for (const text of textsOf(id, 0, promptsOfEach)) await prompt(before, id, text)
    }),
  )
  const now = await start()
  await load
  assert.deepEqual(await applied(), shipped(join(import.meta.dirname, '..', '..')))

  for (let at = 0; at < sessionsOfEach; at++) ids.push(await create(now))
  const isOfBoth = (at: number) => (at % 2 === 0 ? before : now)
  await Promise.all(
    ids.map(async (id, of) => {
      const from = of < sessionsOfEach ? promptsOfEach : 0
      for (const [at, text] of textsOf(id, from, 2 * promptsOfEach).entries()) await prompt(isOfBoth(at), id, text)
    }),
  )
  for (const id of ids) await idle(before, id)

  // Each takes over what the other one leaves, the older version also after the newer one.
  const inFlight = async (on: Service, survivor: Service) => {
    upstream.hold()
    const seen = upstream.requests.length
    const id = await create(on)
    await prompt(on, id, `${id} 0`)
    await upstream.received(seen + 1)
    await on.kill()
    upstream.release()
    await idle(survivor, id)
    assert.deepEqual(faultsOf({ prompts: [`${id} 0`], ...same(await logOf(survivor, id)) }), [], id)
  }
  await inFlight(before, now)
  const again = await start(tree)
  await inFlight(now, again)

  for (const id of ids) {
    const prompts = textsOf(id, 0, 2 * promptsOfEach)
    assert.deepEqual(faultsOf({ prompts, ...same(await logOf(again, id)) }), [], id)
  }
  const env = { DATABASE_URL: databaseUrl, SWITCHYARD_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') }
  const { stdout } = await runSwitchyard(['doctor', '--deep', '--json', '--url', again.url], { HOME: '/', ...env })
  const findings = JSON.parse(stdout).findings as { name: string; state: string; detail: string }[]
  const data = findings.filter(({ name }) => name === 'stored data')
  assert.ok(data.length > 5)
  assert.deepEqual(
    data.filter(({ state }) => state !== 'ok'),
    [],
  )
})

const same = (log: readonly SessionEvent[]) => ({ log, streamed: log })
