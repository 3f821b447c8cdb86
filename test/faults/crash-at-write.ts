import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../support/eventually.ts'
import type { Service } from '../support/service.ts'
import { checkInvariants, readLog } from './checker.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { createJournal, type Journal } from './journal.ts'
import { untilQuiet } from './load.ts'
import { type Look, lookAt } from './look.ts'
import { follow, type Reader } from './readers.ts'
import { createSite, type Site } from './site.ts'
import { transcriptOf } from './transcript.ts'
import { startUpstream, toolPrompt, type Upstream } from './upstream.ts'

interface Stage {
  readonly bench: Bench
  readonly site: Site
  readonly journal: Journal
  readonly look: Look
  readonly upstream: Upstream
}

/** The variables that load the hook into the service's process. */
export const hooked = (plan: object, record?: string) => ({
  NODE_OPTIONS: `--import ${join(import.meta.dirname, 'crash-hook.ts')}`,
  FAULT_PLAN: JSON.stringify(plan),
  ...(record !== undefined && { FAULT_RECORD: record }),
})

/** F03: a crash before and after each write that one prompt makes; every round must end in the same transcript. */
async function crashAtEveryWrite(bench: Bench) {
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, { upstream, database: await bench.cluster.database() })
  const journal = createJournal(bench)
  await site.start()
  const look = lookAt(bench, site.databaseUrl)
  await site.kill()
  const stage: Stage = { bench, site, journal, look, upstream }
  const record = join(bench.folder, 'writes.txt')
  const whole = await runRound(stage, 'whole', { plan: {}, record })
  const writes = readFileSync(record, 'utf8').trim().split('\n')
  bench.say(`writes of one prompt:\n    ${writes.join('\n    ')}`)
  let struck = 0
  for (let write = 1; write <= writes.length; write++) {
    for (const moment of ['before', 'after'] as const) {
      const round = await runRound(stage, `w${write}-${moment}`, { plan: { write, moment } })
      assert.deepEqual(round.transcript, whole.transcript, `the transcript after a crash ${moment} write ${write}`)
      if (round.wasStruck) struck++
      bench.say(`crash ${moment} write ${write}: ${round.wasStruck ? 'struck' : 'not reached'}, same transcript`)
    }
  }
  // The last writes give the lease back and may come in another order; most rounds must really have struck.
  assert.ok(struck >= writes.length * 2 - 4, `only ${struck} of ${writes.length * 2} crashes happened`)
  return { rounds: writes.length * 2, numbers: { writes: writes.length, crashes: struck } }
}

interface Fault {
  readonly plan: { readonly write?: number; readonly moment?: string }
  readonly record?: string
}

/** One session with one prompt, from its creation to a quiet service; the prompt meets the fault. */
async function runRound(stage: Stage, name: string, { plan, record }: Fault) {
  const { bench, site, journal, look } = stage
  const target = () => site
  await site.start()
  const sessionId = await journal.session(target, name)
  await site.kill()
  const first = await site.start({ env: hooked(plan, record) })
  const reader = follow(bench, target, sessionId)
  const promptKey = `p-${name}`
  const sent = journal.prompt(target, { sessionId, key: promptKey, text: toolPrompt(promptKey), by: 'message id' })
  sent.catch(() => undefined)
  const wasStruck = await struckOrQuiet(first, look, sessionId)
  // The lease is given back after the last event: time for the writes that come with it.
  if (wasStruck) await site.start()
  await sent
  await untilQuiet(look, [reader])
  const log = await readLog(site, sessionId)
  await checkRound(stage, reader)
  await site.kill()
  return { wasStruck, transcript: transcriptOf(log).map(line => line.replaceAll(promptKey, 'KEY')) }
}

/** True once the process is gone; false when its work is done and the lease was given back. */
function struckOrQuiet(service: Service, look: Look, sessionId: string): Promise<boolean> {
  const finished = `
    select from sessions where id = $1 and lease_owner is null and last_outcome is not null`
  return eventually(
    async () => {
      if (!isAlive(service.pid)) return 'struck'
      const { rowCount } = await look.pool.query(finished, [sessionId])
      return rowCount === 1 && 'quiet'
    },
    { withinMs: 30_000, what: 'the crash or the end' },
  ).then(how => how === 'struck')
}

/** A killed child is a zombie until it is waited for, which Node does at once. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function checkRound({ look, journal, site, upstream }: Stage, reader: Reader): Promise<void> {
  await eventually(
    async () => (await look.pool.query('select from sessions where lease_owner is not null')).rowCount === 0,
  )
  const evidence = {
    look,
    journal,
    target: site,
    upstream,
    readers: [reader],
    dataDir: site.dataDir,
    logs: site.logs(),
  }
  await checkInvariants(evidence)
  await reader.close()
}

/** F03. */
export const crashCases: readonly FaultCase[] = [
  {
    id: 'F03',
    title: 'a crash before and after each database write of one prompt with a tool call',
    run: crashAtEveryWrite,
  },
]
