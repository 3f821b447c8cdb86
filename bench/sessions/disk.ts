import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { startEmbeddedPostgres } from '../../src/server/db/embedded-postgres.ts'
import { createLog } from '../../src/server/platform/log.ts'
import type { BenchCase, Figure, Place } from '../bench-case.ts'
import { createAgent, succeeded } from '../demo-session.ts'
import { type Server, startServer } from '../server.ts'
import { median, percentile, rounded } from '../statistics.ts'
import { type Tree, treesOf } from './trees.ts'
import { newSessions, runTurns } from './turns.ts'

const syncMs = 5
const sessions = 40
const turns = 10
const slices = 3
const deliveries = 200
const deliveriesPerSecond = 50
const token = 'token-of-the-bench-webhook'

interface Pair {
  readonly name: string
  readonly servers: readonly Server[]
  readonly agentId: string
  readonly hookId: string
  /** Backends of its database that wait for a lock of the whole database, at this moment. */
  waiting(): Promise<number>
  stop(): Promise<void>
}

interface Sample {
  readonly turnsPerSecond: number
  readonly webhookP99Ms: number
  readonly locked: number
}

/** Two replicas on a database whose disk is slow: how much of their time goes by waiting for each other. */
export const disk = (against: string | undefined): BenchCase => ({
  name: 'disk',
  title: `two replicas, each sync of the database's disk ${syncMs} ms longer (commit_delay), ${sessions} sessions of ${turns} turns, then ${deliveriesPerSecond} webhook deliveries a second`,
  async run(place) {
    const pairs: Pair[] = []
    try {
      for (const tree of treesOf(place.folder, against)) pairs.push(await start(place, tree))
      const samples = await takeTurns(pairs, place)
      return figuresOf(samples)
    } finally {
      for (const { stop } of pairs) await stop()
    }
  },
})

async function takeTurns(pairs: readonly Pair[], { log }: Place): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const samples = new Map(pairs.map(({ name }): [string, Sample[]] => [name, []]))
  for (const pair of pairs) await runTurns(pair.servers, await sessionsOf(pair), 2)
  for (let slice = 0; slice < slices; slice++) {
    for (const pair of slice % 2 === 0 ? pairs : pairs.toReversed()) {
      const sample = await measure(pair)
      log(`${pair.name}: ${rounded(sample.turnsPerSecond)} turns/s, webhooks p99 ${rounded(sample.webhookP99Ms)} ms`)
      samples.get(pair.name)?.push(sample)
    }
  }
  return samples
}

async function start({ folder }: Place, { name, root }: Tree): Promise<Pair> {
  const own = join(folder, name.replaceAll(' ', '-'))
  const log = createLog('silent')
  const database = await startEmbeddedPostgres({ dataDir: join(own, 'database'), maxConnections: 200, log })
  await slowDown(database.adminUrl)
  const env = { DATABASE_URL: database.url }
  const options = { dataDir: join(own, 'data'), env, ...(root !== undefined && { root }) }
  const servers = [await startServer(options), await startServer(options)]
  const [first] = servers as [Server, Server]
  const client = new Client({ connectionString: database.url })
  client.on('error', () => undefined)
  await client.connect()
  const agent = {
    name: 'hook',
    owner_id: 'bench',
    model: 'demo',
    config: { webhook: { secret_key: 'HOOK', template: 'Say {{prompt}}.' } },
  }
  await succeeded(first, 'POST /api/vault', { key: 'HOOK', value: token })
  const hookId = (await succeeded(first, 'POST /api/agents', agent)).json<{ id: string }>().id
  return {
    name,
    servers,
    hookId,
    agentId: await createAgent(first, 'text'),
    async waiting() {
      const text = `select count(*)::integer as n from pg_stat_activity where wait_event_type = 'Lock' and wait_event = 'object'`
      return (await client.query<{ n: number }>(text)).rows[0]?.n ?? 0
    },
    async stop() {
      await client.end()
      for (const server of servers) await server.stop()
      await database.stop()
    },
  }
}

/** Whoever brings a commit to the disk sleeps first, as a disk that is so much slower would make it wait. */
async function slowDown(adminUrl: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl })
  await client.connect()
  await client.query(`alter system set commit_delay = ${syncMs * 1_000}`)
  await client.query('alter system set commit_siblings = 0')
  await client.query('select pg_reload_conf()')
  await client.end()
}

function sessionsOf({ servers: [first], agentId }: Pair): Promise<string[]> {
  if (!first) throw new Error('there is no server')
  return newSessions(first, agentId, sessions)
}

async function measure(pair: Pair): Promise<Sample> {
  let locked = 0
  let isOver = false
  const looking = (async () => {
    while (!isOver) {
      locked = Math.max(locked, await pair.waiting())
      await sleep(20)
    }
  })()
  const ids = await sessionsOf(pair)
  const startedAt = performance.now()
  await runTurns(pair.servers, ids, turns)
  const seconds = (performance.now() - startedAt) / 1_000
  isOver = true
  await looking
  return { turnsPerSecond: (sessions * turns) / seconds, webhookP99Ms: percentile(await deliver(pair), 0.99), locked }
}

let delivered = 0

/** The milliseconds of each answer, at a steady rate. */
const deliver = ({ servers, hookId }: Pair): Promise<number[]> =>
  Promise.all(
    Array.from({ length: deliveries }, async (_, at) => {
      await sleep((at / deliveriesPerSecond) * 1_000)
      const server = servers[at % servers.length]
      const sentAt = performance.now()
      const answer = await fetch(`${server?.url}/api/agents/${hookId}/webhook`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'webhook-id': `d${++delivered}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ prompt: `number ${at}` }),
      })
      if (answer.status !== 202)
        throw new Error(`a delivery was answered with ${answer.status}: ${await answer.text()}`)
      await answer.arrayBuffer()
      return performance.now() - sentAt
    }),
  )

function figuresOf(samples: ReadonlyMap<string, readonly Sample[]>): Figure[] {
  const [[, own = []] = [], other] = [...samples]
  const middle = (all: readonly Sample[], field: keyof Sample) => median(all.map(sample => sample[field]))
  const speed = middle(own, 'turnsPerSecond')
  return [
    ...(other
      ? [
          {
            // The least ratio counts: as a figure that must not be above its target it is turned round.
            name: `turns a second, ${other[0]} / this tree`,
            value: middle(other[1], 'turnsPerSecond') / speed,
            unit: '',
            target: 1 / 3,
            detail: `aim 1/6; ${rounded(speed)} / ${rounded(middle(other[1], 'turnsPerSecond'))} turns a second`,
          },
          { name: `webhook answers p99, ${other[0]}`, value: middle(other[1], 'webhookP99Ms'), unit: 'ms' },
        ]
      : [{ name: 'turns a second', value: speed, unit: '/s' }]),
    { name: 'webhook answers p99', value: middle(own, 'webhookP99Ms'), unit: 'ms', target: 500 },
    {
      name: 'backends that wait for a lock of the database, most at once',
      value: Math.max(...own.map(({ locked }) => locked)),
      unit: '',
      target: 0,
    },
  ]
}
