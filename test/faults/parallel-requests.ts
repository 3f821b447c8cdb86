import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../support/service/eventually.ts'
import type { Answered } from '../support/service/send.ts'
import { checkInvariants } from './checker.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { createJournal } from './journal.ts'
import { untilQuiet } from './load.ts'
import { observe } from './observer.ts'
import { processesOf } from './processes.ts'
import { sendOnce, tailEvents } from './single-connection.ts'
import { createSite, type Site } from './site.ts'
import { scriptedText, startUpstream, toolPrompt } from './upstream.ts'

const inParallel = <T>(count: number, work: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, work))

/** F26: 100 parallel POSTs under one Idempotency-Key, another body under it, and a repeat after kill -9. */
async function repeatUnderOneKey(bench: Bench) {
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, { upstream, database: await bench.cluster.database() })
  const journal = createJournal(bench)
  await site.start()
  const observer = observe(bench, site.databaseUrl)
  const headers = { 'idempotency-key': 'create' }
  const create = (title: string) =>
    sendOnce(site, 'POST /session', { headers, body: { title, prompt: toolPrompt('first') } })
  const sessions = oneAnswer(await inParallel(100, () => create('create')), 200)
  assert.equal((await create('another body')).status, 422)

  const { id } = JSON.parse(sessions.body) as { id: string }
  const promptBody = (key: string) => ({
    model: { modelID: 'scripted' },
    parts: [{ type: 'text', text: toolPrompt(key) }],
  })
  const prompt = (key: string) =>
    sendOnce(site, `POST /session/${id}/prompt_async`, {
      headers: { 'idempotency-key': 'prompt' },
      body: promptBody(key),
    })
  const prompts = oneAnswer(await inParallel(100, () => prompt('second')), 204)
  assert.equal((await prompt('another body')).status, 422)
  await untilQuiet(observer, [])

  await site.kill()
  await site.start()
  assert.equal((await create('create')).text, sessions.body, 'the answer of before the restart')
  assert.equal((await prompt('second')).status, 204)
  await untilQuiet(observer, [])
  const counted = await observer.pool.query(
    'select (select count(*) from sessions) as sessions, (select count(*) from prompts) as prompts',
  )
  assert.deepEqual(counted.rows, [{ sessions: 1, prompts: 2 }])
  await checkInvariants({
    observer,
    journal,
    target: site,
    upstream,
    readers: [],
    dataDir: site.dataDir,
    logs: site.logs(),
  })
  return { rounds: 200, numbers: { busy_409: sessions.busy + prompts.busy } }
}

/** All answers are the same success, or 409 while the first was running. */
function oneAnswer(answers: readonly Answered[], success: number): { body: string; busy: number } {
  const wrong = answers.filter(({ status }) => status !== success && status !== 409)
  assert.deepEqual(wrong, [])
  const bodies = new Set(answers.filter(({ status }) => status === success).map(({ text }) => text))
  assert.equal(bodies.size, 1, `one body, not ${[...bodies].join(' and ')}`)
  return { body: [...bodies][0] ?? '', busy: answers.filter(({ status }) => status === 409).length }
}

/** F30: 50 parallel DELETEs against a running prompt and a stream, once in a model call and once in a tool call. */
async function deleteInParallel(bench: Bench) {
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, { upstream, database: await bench.cluster.database() })
  const journal = createJournal(bench)
  await site.start()
  const observer = observe(bench, site.databaseUrl)
  const callIsOpen = () => {
    const calls = upstream.record().filter(({ key }) => key === 'model')
    return calls.some(({ what }) => what === 'call') && !calls.some(({ what }) => what === 'closed')
  }
  const slowModel = scriptedText('model', [{ delayMs: 60_000 }])
  const slowTool = scriptedText('tool', [{ tool_calls: [{ name: 'bash', input: { command: 'sleep 61' } }] }])
  const toolRuns = () => processesOf(bench.folder).some(command => command.includes('sleep 61'))
  const numbers: Record<string, number> = {}
  for (const [key, text, isAtWork] of [
    ['model', slowModel, callIsOpen],
    ['tool', slowTool, toolRuns],
  ] as const) {
    const sessionId = await journal.session(() => site, key)
    await journal.prompt(() => site, { sessionId, key, text, by: 'message id' })
    await journal.prompt(() => site, {
      sessionId,
      key: `${key}-waits`,
      text: toolPrompt(`${key}-waits`),
      by: 'message id',
    })
    numbers[`${key}_ended_ms`] = await deleteAtWork(site, sessionId, isAtWork)
  }
  const dead = await observer.pool.query(
    `select from sessions where deleted_at is not null and sandbox_status = 'dead' and lease_owner is null`,
  )
  assert.equal(dead.rowCount, 2, 'both rows are dead and have no owner')
  await checkInvariants({
    observer,
    journal,
    target: site,
    upstream,
    readers: [],
    dataDir: site.dataDir,
    logs: site.logs(),
  })
  return { rounds: 2, numbers }
}

/** The milliseconds until the work has really ended. */
async function deleteAtWork(site: Site, id: string, isAtWork: () => boolean): Promise<number> {
  await eventually(isAtWork, { withinMs: 20_000, what: 'the work' })
  const tail = await tailEvents(site, id)
  const path = `/api/v1/managed_agents/sessions/${id}`
  const deletedAt = performance.now()
  const ended = eventually(() => !isAtWork(), { withinMs: 20_000, what: 'the end of the work' }).then(
    () => performance.now() - deletedAt,
  )
  const answers = await inParallel(50, () => sendOnce(site, `DELETE ${path}`))
  assert.deepEqual(new Set(answers.map(({ status, text }) => `${status}${text}`)), new Set(['204']))
  await tail.ended
  assert.equal(tail.events.at(-1)?.type, 'session.deleted')
  const endedMs = Math.round(await ended)
  assert.ok(endedMs <= 2_000, `the work continued for ${endedMs} ms, not 2 s`)
  assert.equal((await sendOnce(site, `DELETE ${path}`)).status, 204, 'once more')
  assert.equal((await sendOnce(site, `GET ${path}`)).json()['sandbox_status'], 'dead')
  assert.equal(existsSync(join(site.dataDir, 'workspaces', id)), false, 'the workspace is deleted')
  const late = await tailEvents(site, id, { query: `after=${tail.events.length}` })
  await late.ended
  return endedMs
}

/** F26, F30. */
export const parallelCases: readonly FaultCase[] = [
  {
    id: 'F26',
    title: '100 parallel POSTs with one Idempotency-Key; another body; after kill -9',
    run: repeatUnderOneKey,
  },
  { id: 'F30', title: '50 parallel DELETEs against a running prompt and a stream', run: deleteInParallel },
]
