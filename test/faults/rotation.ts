import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRowCipher } from '../../src/server/db/encrypted-rows.ts'
import { createKeyring } from '../../src/server/platform/encryption.ts'
import { secretStore } from '../../src/server/secrets/store.ts'
import { eventually } from '../support/service/eventually.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { createJournal, type Journal } from './journal.ts'
import { observe } from './observer.ts'
import { sendOnce } from './single-connection.ts'
import { createSite, type Site } from './site.ts'
import { startUpstream } from './upstream.ts'

interface RotationPlan {
  readonly entries: number
  readonly virtualKeys: number
  /** Number of kills during re-encryption. */
  readonly kills: number
  readonly writers: number
  readonly database: string
}

interface RotationResult {
  readonly entries: number
  readonly virtual_keys: number
  readonly kills: number
  readonly left_at_kills: string
  readonly writes: number
  readonly rotation_s: number
}

/** What the service acknowledged. */
interface Promised {
  /** The value of each vault entry. */
  readonly values: Map<string, string>
  readonly virtualKeys: string[]
}

/**
 * S13: entries and virtual keys under an old encryption key; a new one is put first, and the server is killed while it
 * re-encrypts everything under traffic; then the old key is removed. Rejects unless everything acknowledged is there.
 */
export async function rotateUnderKills(bench: Bench, plan: RotationPlan): Promise<RotationResult> {
  const [oldKey, newKey] = [randomBytes(32), randomBytes(32)]
  const newId = createKeyring([newKey]).currentId
  const site = await createSite(bench, { upstream: await startUpstream(bench), database: plan.database })
  const startWith = (...keys: readonly Buffer[]) =>
    site.start({ env: { SWITCHYARD_ENCRYPTION_KEY: keys.map(key => key.toString('base64')).join(',') } })
  const observer = observe(bench, plan.database)
  const { keyUse } = secretStore(observer.pool)
  /** Values of all tables for which the old key is needed: what `switchyard secrets` shows to whoever waits to drop it. */
  const left = async (): Promise<number> =>
    (await keyUse()).reduce((sum, { key_id, rows }) => sum + (key_id === newId ? 0 : rows), 0)
  const journal = createJournal(bench)
  const promised: Promised = { values: new Map(), virtualKeys: [] }

  await startWith(oldKey)
  await fill(site, { journal, promised, plan })
  assert.ok((await left()) >= plan.entries)
  await site.kill()

  const traffic = startTraffic(site, { bench, journal, promised, plan })
  const startedAt = performance.now()
  const leftAtKills: number[] = []
  while (leftAtKills.length < plan.kills) {
    await startWith(newKey, oldKey)
    const before = await left()
    if (before === 0) throw new Error(`everything was re-encrypted before kill ${leftAtKills.length + 1}`)
    const enough = before - bench.random.whole(1, Math.floor(before / 4))
    await eventually(async () => (await left()) <= enough, { withinMs: 60_000, what: 'progress of the re-encryption' })
    await site.kill()
    leftAtKills.push(await left())
    bench.log(`kill ${leftAtKills.length} of ${plan.kills}, ${leftAtKills.at(-1)} values left`)
  }
  await startWith(newKey, oldKey)
  await eventually(async () => (await left()) === 0, { withinMs: 120_000, what: 'the end of the re-encryption' })
  const rotationS = Math.round((performance.now() - startedAt) / 100) / 10
  const writes = await traffic.stop()
  assert.ok(Math.min(...leftAtKills) > 0, 'no kill may come after the end')

  await site.service?.stop()
  await startWith(newKey)
  await assertAllThere(site, { promised, newKey, observer })
  return {
    entries: promised.values.size,
    virtual_keys: promised.virtualKeys.length,
    kills: leftAtKills.length,
    left_at_kills: leftAtKills.join(' '),
    writes,
    rotation_s: rotationS,
  }
}

interface Work {
  readonly journal: Journal
  readonly promised: Promised
  readonly plan: RotationPlan
}

const setEntry = (site: Site, { journal, promised }: Pick<Work, 'journal' | 'promised'>) => {
  return async (name: string): Promise<void> => {
    const value = `${name} ${randomBytes(20).toString('hex')}`
    await journal.until2xx(() => site, { line: 'POST /api/vault', key: name, body: { key: name, value } })
    promised.values.set(name, value)
  }
}

async function addVirtualKey(site: Site, { journal, promised }: Pick<Work, 'journal' | 'promised'>): Promise<void> {
  const name = `key-${promised.virtualKeys.length}-${randomBytes(4).toString('hex')}`
  const headers = { 'idempotency-key': name }
  const answer = await journal.until2xx(() => site, {
    line: 'POST /api/keys',
    key: name,
    headers,
    body: { label: name },
  })
  promised.virtualKeys.push(answer.json<{ key: string }>().key)
}

async function fill(site: Site, work: Work): Promise<void> {
  const set = setEntry(site, work)
  const names = Array.from({ length: work.plan.entries }, (_, at) => `entry-${at}`)
  const next = names.values()
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const name of next) await set(name)
    }),
  )
  for (let made = 0; made < work.plan.virtualKeys; made++) await addVirtualKey(site, work)
}

/** Writers that replace entries of their own, and a caller that makes keys and uses them, through all the kills. */
function startTraffic(site: Site, work: Work & { bench: Bench }): { stop(): Promise<number> } {
  const { bench, plan, promised } = work
  const ended = new AbortController()
  const signal = AbortSignal.any([ended.signal, bench.signal])
  let writes = 0
  const set = setEntry(site, work)
  const writer = async (at: number) => {
    for (let round = 0; !signal.aborted; round++) {
      // Each writer has its own entries, so that the last acknowledged value is the one that counts.
      await set(`entry-${(at + round * plan.writers) % plan.entries}`)
      writes++
    }
  }
  const keyHolder = async () => {
    for (let round = 0; !signal.aborted; round++) {
      if (round % 20 === 0) await addVirtualKey(site, work)
      await assertOpens(site, bench.random.pick(promised.virtualKeys))
      await sleep(5)
    }
  }
  const working = Promise.all([...Array.from({ length: plan.writers }, (_, at) => writer(at)), keyHolder()])
  // Rethrown by `stop`, which is the first to await it.
  working.catch(() => undefined)
  return {
    async stop() {
      ended.abort()
      await working
      return writes
    },
  }
}

/** While the server is down requests fail to connect, and during shutdown it may answer 503; any other rejection breaks the contract. */
async function assertOpens(site: Site, key: string): Promise<void> {
  const answer = await sendOnce({ url: site.url, key }, 'GET /v1/models').catch(() => undefined)
  if (answer && answer.status !== 200 && answer.status !== 503)
    throw new Error(`a virtual key got ${answer.status} ${answer.text}`)
}

interface After {
  readonly promised: Promised
  readonly newKey: Buffer
  readonly observer: ReturnType<typeof observe>
}

async function assertAllThere(site: Site, { promised, newKey, observer }: After): Promise<void> {
  for (const key of promised.virtualKeys)
    assert.equal((await sendOnce({ url: site.url, key }, 'GET /v1/models')).status, 200, 'a virtual key was lost')
  const cipher = createRowCipher(createKeyring([newKey]), 'vault_entries')
  const { rows } = await observer.pool.query<Parameters<typeof cipher.decrypt>[0]>('select * from vault_entries')
  assert.equal(rows.length, promised.values.size)
  for (const row of rows) assert.equal(cipher.decrypt(row).toString(), promised.values.get(row.key), row.key)
  const { rows: others } = await observer.pool.query('select distinct key_id from service_secrets')
  assert.deepEqual(others, [{ key_id: createKeyring([newKey]).currentId }])
}

const long = { entries: 10_000, virtualKeys: 20, kills: 3, writers: 4 }

/** S13: the change of the encryption key. */
export const rotationCases: readonly FaultCase[] = [
  {
    id: 'S13-rotation',
    title: 'encryption key changed with 10,000 vault entries under traffic, kill -9 in the middle, old key taken away',
    run: async bench => ({
      rounds: long.kills,
      numbers: { ...(await rotateUnderKills(bench, { ...long, database: await bench.cluster.database() })) },
    }),
  },
]
