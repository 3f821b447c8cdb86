import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Pool } from 'pg'
import { freshDatabase } from '../../../../../test/support/service/database.ts'
import { rigOver } from '../../../../../test/support/sessions/builtin-rig.ts'
import { createEngine } from '../../../../../test/support/sessions/session-engine.ts'
import { factsIn, smallWindow, wordsOf } from '../../../../../test/support/sessions/small-window.ts'
import { contextCompacted, type SessionEvent } from '../../../../contract/events.ts'
import { masterCaller } from '../../../http/caller.ts'
import { eventStore } from '../../../sessions/log/event-store.ts'
import { builtinRuntime } from '../runtime.ts'

const { pool } = await freshDatabase()
const filler = 'There is more to say about this than fits into one line, and so it goes on for a while. '.repeat(4)
const contextWindow = 4_750
const asked = { caller: masterCaller, idempotency: undefined }

/** A statement that writes. */
const isWrite = (text: string): boolean =>
  /^(commit|insert|update|delete)\b/i.test(text) ||
  /^select \* from (append_events|begin_run|end_run)\(|^with\b.*\b(insert into|update|delete from) /is.test(text)

type Ask = (...args: unknown[]) => Promise<unknown>

const textOf = (first: unknown): string => (typeof first === 'string' ? first : (first as { text: string }).text).trim()

/** Pool of a process that dies before or after write number `n`: all later statements are dropped. */
function mortalPool(death: { readonly write: number; readonly moment: 'before' | 'after' } | undefined) {
  let writes = 0
  let isDead = false
  const end = Promise.withResolvers<void>()
  const die = () => {
    isDead = true
    end.resolve()
    throw new Error('the process is dead')
  }
  const asking =
    (ask: Ask): Ask =>
    async (...args) => {
      if (isDead) die()
      const isHere = isWrite(textOf(args[0])) && ++writes === death?.write
      if (isHere && death?.moment === 'before') die()
      const answer = await ask(...args)
      if (isHere) die()
      return answer
    }
  const over = <T extends object>(target: T, changed: Readonly<Record<string, unknown>>): T =>
    new Proxy(target, { get: (of, name) => changed[String(name)] ?? bound(of, Reflect.get(of, name)) })
  const connect = async () => {
    const client = await pool.connect()
    const query = asking(client.query.bind(client) as unknown as Ask)
    return over(client, { query, release: () => client.release(isDead) })
  }
  const mortal = over(pool, { query: asking(pool.query.bind(pool) as unknown as Ask), connect })
  return { pool: mortal, writes: () => writes, isDead: () => isDead, died: end.promise }
}

const bound = (of: object, value: unknown): unknown => (typeof value === 'function' ? value.bind(of) : value)

/** A process with the model and the service's own runtime. */
function processOf(t: TestContext, model: ReturnType<typeof smallWindow>, over: Pool) {
  const runtime = builtinRuntime({ ...rigOver([]), gateway: model, modelLimits: () => ({ contextWindow }) })
  return createEngine(t, { pool: over, over: runtime })
}

const createModel = (before?: Parameters<typeof smallWindow>[0]['before']) =>
  smallWindow({
    ...(before && { before }),
    window: contextWindow,
    answer: request => ({ text: `${factsIn(wordsOf(request)).join(' ')}. ${request.isSummary ? '' : filler}` }),
  })

const logOf = (id: string): Promise<SessionEvent[]> => eventStore(pool).page(id, 0, 1_000)
const compactionsIn = (log: readonly SessionEvent[]) => log.filter(event => contextCompacted(event))

/** A session whose next prompt needs a compaction. */
async function fullSession(t: TestContext, model: ReturnType<typeof smallWindow>): Promise<string> {
  const engine = processOf(t, model, pool)
  const id = await engine.create()
  for (let turn = 1; turn <= 4; turn++) {
    await engine.prompt(id, `Remember FACT-${turn}. ${filler}`)
    await engine.settle()
  }
  return id
}

/** Runs the last prompt of a session in a process that dies, then in one that does not. */
async function lastPrompt(
  t: TestContext,
  id: string,
  model: ReturnType<typeof smallWindow>,
  mortal = mortalPool(undefined),
) {
  const first = processOf(t, model, mortal.pool)
  const next = processOf(t, model, pool)
  await next.prompt(id, `Remember FACT-9. ${filler.repeat(16)}`)
  const model0 = model.requests.length
  first.runner.wake(id)
  await Promise.race([first.runner.settled(id), mortal.died])
  await first.runner.drain(0)
  const paidBefore = model.requests.slice(model0).filter(({ isSummary }) => isSummary).length
  const wasLogged = compactionsIn(await logOf(id)).length > 0
  // Simulates an expired lease.
  await pool.query('update sessions set lease_until = clock_timestamp() where id = $1 and lease_owner is not null', [
    id,
  ])
  await next.settle()
  const paid = model.requests.slice(model0).filter(({ isSummary }) => isSummary).length
  return { paid, paidAgain: paid - paidBefore, wasLogged, log: await logOf(id) }
}

const answerIn = (log: readonly SessionEvent[]) => JSON.stringify(log.findLast(({ type }) => type === 'agent.message'))

test('a process that dies at any write of a compacting run does not repeat a model request that is in the log', async t => {
  const model = createModel()
  const whole = mortalPool(undefined)
  const expected = await lastPrompt(t, await fullSession(t, model), model, whole)
  assert.equal(compactionsIn(expected.log).length, 1)
  assert.equal(expected.paid, 1)
  assert.ok(whole.writes() >= 5, `${whole.writes()} writes`)
  let died = 0
  for (let write = 1; write <= whole.writes(); write++) {
    for (const moment of ['before', 'after'] as const) {
      const its = createModel()
      const id = await fullSession(t, its)
      const mortal = mortalPool({ write, moment })
      const { log, wasLogged, paidAgain } = await lastPrompt(t, id, its, mortal)
      const where = `${moment} write ${write}`
      if (mortal.isDead()) died++
      assert.equal(compactionsIn(log).length, 1, where)
      assert.ok(paidAgain <= (wasLogged ? 0 : 1), `${paidAgain} more summaries, ${where}`)
      assert.equal(log.at(-1)?.type, 'session.status_idle', where)
      assert.deepEqual(factsIn(answerIn(log)).toSorted(), factsIn(answerIn(expected.log)).toSorted(), where)
      assert.deepEqual(its.rejected, [])
    }
  }
  assert.equal(died, 2 * whole.writes())
})

test('a compaction request is queued like a prompt, and later prompts see the summary', async t => {
  const model = createModel()
  const engine = processOf(t, model, pool)
  const id = await engine.create()
  await engine.prompt(id, 'Remember FACT-1.')
  const promptId = await engine.compactions.enqueue(id, asked)
  await engine.prompt(id, 'What do you know?')
  const queue = await engine.rules.queue(id, masterCaller, { after: undefined, limit: 10 })
  assert.deepEqual(
    queue.map(({ kind, parts }) => [kind, parts.length]),
    [
      ['prompt', 1],
      ['compact', 0],
      ['prompt', 1],
    ],
  )
  await engine.settle()
  const log = await logOf(id)
  const [compaction] = compactionsIn(log)
  assert.equal(compaction?.reason, 'request')
  const said = log.filter(({ type }) => /user|compacted|agent.message/.test(type)).map(({ type }) => type)
  const queued = ['user.message', 'user.compact', 'user.message']
  assert.deepEqual(said, [...queued, 'agent.message', 'agent.thread_context_compacted', 'agent.message'])
  assert.deepEqual(compaction?.waiting_seqs, [log.findLast(({ type }) => type === 'user.message')?.seq])
  assert.match(answerIn(log), /FACT-1/)
  const running = log.filter(({ type, prompt_id }) => type === 'session.status_running' && prompt_id === promptId)
  assert.equal(running.length, 1)
  // A new process reads the log from the compaction on, and gets the same conversation.
  const cold = processOf(t, model, pool)
  await cold.prompt(id, 'And now?')
  await cold.settle()
  assert.match(answerIn(await logOf(id)), /FACT-1/)
  assert.ok(wordsOf(model.requests.at(-1) ?? assert.fail()).includes('What do you know?'))
})

test('a prompt that steers during a compaction is answered after it', async t => {
  let steer = async (): Promise<unknown> => undefined
  const model = createModel(async ({ isSummary }) => {
    if (isSummary) await steer()
  })
  const engine = processOf(t, model, pool)
  const id = await engine.create()
  await engine.prompt(id, 'Remember FACT-1.')
  await engine.settle()
  steer = () => engine.prompt(id, 'What do you know?', 'steer')
  await engine.compactions.enqueue(id, asked)
  await engine.settle()
  const log = await logOf(id)
  const compacted = log.findIndex(event => contextCompacted(event))
  assert.deepEqual(
    log.slice(compacted).flatMap(({ type }) => (/message|prompt_ended/.test(type) ? [type] : [])),
    ['agent.message'],
  )
  assert.match(answerIn(log), /FACT-1/)
})
