import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { startEmbeddedPostgres } from '../../src/server/db/embedded-postgres.ts'
import { createLog } from '../../src/server/platform/log.ts'
import type { BenchCase, Figure, Place } from '../bench-case.ts'
import { startCpuClock } from '../cpu-clock.ts'
import { createAgent } from '../demo-session.ts'
import { insideCounter } from '../inside.ts'
import { type Server, startServer } from '../server.ts'
import { median, rounded } from '../statistics.ts'
import { type Tree, treesOf } from './trees.ts'
import { newSessions, runTurns } from './turns.ts'

const sessions = 10
const turns = 10
const slices = 10
/** What a process does at rest is measured as long, and taken off. */
const restMs = 3_000

interface Contender {
  readonly name: string
  readonly server: Server
  readonly agentId: string
  /** Statements that the process has sent so far. */
  statements(): Promise<number>
  /** Transactions that have written so far. */
  writes(): Promise<number>
  stop(): Promise<void>
}

interface Sample {
  readonly cpuMs: number
  readonly statements: number
  readonly commits: number
}

/** What a turn costs that is a model's answer in text. */
export const turn = (against: string | undefined): BenchCase => ({
  name: 'turn',
  title: `a text turn on the demo model, ${sessions} sessions of ${turns} turns at a time, ${slices} slices taken in turns`,
  async run(place) {
    const contenders: Contender[] = []
    try {
      for (const tree of treesOf(place.folder, against)) contenders.push(await start(place, tree))
      const samples = await takeTurns(contenders, place)
      return figuresOf(samples, against !== undefined)
    } finally {
      for (const { stop } of contenders) await stop()
    }
  },
})

async function start({ folder }: Place, { name, root }: Tree): Promise<Contender> {
  const own = join(folder, name.replaceAll(' ', '-'))
  const database = await startEmbeddedPostgres({ dataDir: join(own, 'database'), log: createLog('silent') })
  const counter = insideCounter(own)
  const env = { DATABASE_URL: database.url, ...counter.env }
  const server = await startServer({ dataDir: join(own, 'data'), env, ...(root !== undefined && { root }) })
  const client = new Client({ connectionString: database.url })
  client.on('error', () => undefined)
  await client.connect()
  return {
    name,
    server,
    agentId: await createAgent(server, 'text'),
    statements: async () => (await counter.read(server.pid)).statements,
    async writes() {
      const text = 'select pg_snapshot_xmax(pg_current_snapshot())::text as xid'
      return Number((await client.query<{ xid: string }>(text)).rows[0]?.xid)
    },
    async stop() {
      await client.end()
      await server.stop()
      await database.stop()
    },
  }
}

async function takeTurns(contenders: readonly Contender[], { log }: Place): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>()
  const rests = new Map<string, Sample>()
  for (const contender of contenders) {
    await runTurns([contender.server], await newSessions(contender.server, contender.agentId, sessions), turns * 3)
    await sleep(1_500)
    rests.set(contender.name, await measured(contender, () => sleep(restMs)))
  }
  for (let slice = 0; slice < slices; slice++) {
    for (const contender of slice % 2 === 0 ? contenders : contenders.toReversed()) {
      const ids = await newSessions(contender.server, contender.agentId, sessions)
      const startedAt = performance.now()
      const whole = await measured(contender, async () => {
        await runTurns([contender.server], ids, turns)
        // The ledger's rows of the last calls are written within 100 ms.
        await sleep(200)
      })
      const share = (performance.now() - startedAt) / restMs
      const rest = rests.get(contender.name)
      const per = (field: keyof Sample) => (whole[field] - (rest?.[field] ?? 0) * share) / (sessions * turns)
      const sample = { cpuMs: per('cpuMs'), statements: per('statements'), commits: per('commits') }
      log(`${contender.name}: ${rounded(sample.cpuMs)} ms CPU, ${rounded(sample.statements)} statements a turn`)
      samples.set(contender.name, [...(samples.get(contender.name) ?? []), sample])
    }
  }
  return samples
}

async function measured(contender: Contender, work: () => Promise<unknown>): Promise<Sample> {
  const [statements, writes] = [await contender.statements(), await contender.writes()]
  // The database is a child of this process, not of the service.
  const clock = startCpuClock(process.pid)
  const bench = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(bench)
  const cpuMs = (clock().wholeUs - user - system) / 1_000
  return {
    cpuMs,
    statements: (await contender.statements()) - statements,
    commits: (await contender.writes()) - writes,
  }
}

function figuresOf(samples: ReadonlyMap<string, readonly Sample[]>, isCompared: boolean): Figure[] {
  const middle = (name: string, field: keyof Sample) => median((samples.get(name) ?? []).map(sample => sample[field]))
  const names = [...samples.keys()]
  const [own = '', other = ''] = names
  const ratio: Figure = {
    name: `CPU of a turn, this tree / ${other}`,
    value: middle(own, 'cpuMs') / middle(other, 'cpuMs'),
    unit: '',
    target: 0.5,
    detail: `aim 0.3; ${names.map(name => `${rounded(middle(name, 'cpuMs'))} ms`).join(' / ')}, database included`,
  }
  return [
    { name: 'statements a turn', value: middle(own, 'statements'), unit: '', target: 12, detail: 'aim 9' },
    { name: 'writing commits a turn', value: middle(own, 'commits'), unit: '', target: 5, detail: 'aim 3' },
    ...(isCompared ? [ratio] : [{ name: 'CPU of a turn', value: middle(own, 'cpuMs'), unit: 'ms' }]),
    ...names.slice(1).flatMap((name): Figure[] => [
      { name: `statements a turn, ${name}`, value: middle(name, 'statements'), unit: '' },
      { name: `writing commits a turn, ${name}`, value: middle(name, 'commits'), unit: '' },
    ]),
  ]
}
