import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client } from 'pg'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Prompt } from '../../src/contract/prompts.ts'
import type { OpencodeMessage, Session } from '../../src/contract/sessions.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { type Service, type ServiceOptions, startService } from '../support/service/service.ts'
import { followEvents } from '../support/sessions/event-tail.ts'
import { bash, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

/** One US dollar for a million tokens, so that an answer of `costly` costs two cents, and a call may cost as much. */
const perToken = 0.000001
const maxTokens = 16_000
const costly = { usage: { input_tokens: 4_000, output_tokens: maxTokens } }
/** Enough for one call, but not for a second one after a costly answer. */
const small = 0.03

const upstream = await startScriptedUpstream()
const { url: databaseUrl } = await freshDatabase()
const options: ServiceOptions = {
  databaseUrl,
  config: JSON.stringify({
    model_list: [
      {
        model_name: 'scripted',
        params: {
          model: 'anthropic/scripted',
          api_base: upstream.url,
          api_key: 'sk-upstream',
          input_cost_per_token: perToken,
          output_cost_per_token: perToken,
        },
      },
    ],
    outbound: { allow: [`127.0.0.1:${upstream.port}`] },
  }),
}
let service: Service = await startService(options)
after(async () => {
  await service.stop()
  await upstream.stop()
})

const asked = (text: string) => ({ model: { modelID: 'scripted' }, parts: [{ type: 'text', text }] })

async function ok<T>(line: string, body?: unknown, key?: string): Promise<T> {
  const answer = await send(key === undefined ? service : { ...service, key }, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.text === '' ? (undefined as T) : answer.json<T>()
}

const setBudget = (id: string, max_budget: number) => ok(`PUT /api/budgets/session/${id}`, { max_budget })
const statusOf = async (id: string) => (await ok<Session>(`GET /session/${id}`)).status
const promptsOf = async (id: string) => (await ok<{ data: Prompt[] }>(`GET /session/${id}/prompts`)).data
const statesOf = async (id: string) => (await promptsOf(id)).map(({ state, held_by }) => [state, held_by])
const logOf = async (id: string) =>
  (await ok<{ data: SessionEvent[] }>(`GET /v1/sessions/${id}/events?limit=1000`)).data
const reasonOf = (event: SessionEvent) => (event.stop_reason as { type: string } | undefined)?.type
const isPause = (event: SessionEvent) => reasonOf(event) === 'budget_reached'
const isEnd = (event: SessionEvent) => reasonOf(event) === 'end_turn'

/** A turn that runs a command after a costly answer; the next answer needs more money. `mark` finds its requests. */
const turn = (mark: string) =>
  `${mark} ${saying({ ...bash(`echo ${mark}`), text: 'I look.', ...costly }, { text: 'All done.', ...costly })}`
const requestsOf = (mark: string) => upstream.requests.filter(({ body }) => JSON.stringify(body).includes(mark))

/** A session that its budget has stopped in the middle of its turn. */
async function pausedSession(mark: string): Promise<string> {
  const { id } = await ok<Session>('POST /session', {})
  await setBudget(id, small)
  await ok(`POST /session/${id}/prompt_async`, asked(turn(mark)))
  await eventually(async () => (await logOf(id)).some(isPause), { what: 'the stop by the budget' })
  return id
}

async function ended(id: string): Promise<SessionEvent[]> {
  await eventually(async () => (await promptsOf(id)).every(({ state }) => state === 'done'), {
    what: 'the end of the turn',
  })
  return logOf(id)
}

/** The turn as if nothing had stopped it: each request seen once, each tool run once, the log whole. */
function mustBeWhole(log: readonly SessionEvent[], mark: string): void {
  mustBeGapless(log)
  assert.equal(requestsOf(mark).length, 2, 'the upstream saw each request once')
}

function mustBeGapless(log: readonly SessionEvent[]): void {
  assert.deepEqual(
    log.map(({ seq }) => seq),
    log.map((_, at) => at + 1),
  )
  const count = (type: string) => log.filter(event => event.type === type).length
  assert.deepEqual([count('user.message'), count('agent.tool_use'), count('agent.tool_result')], [1, 1, 1])
  const texts = log.filter(({ type }) => type === 'agent.message').map(event => JSON.stringify(event.content))
  assert.deepEqual(
    texts.map(text => /I look|All done/.exec(text)?.[0]),
    ['I look', 'All done'],
  )
  const begun = log.filter(({ type }) => type === 'span.model_request_start').map(({ id }) => id)
  const over = log.filter(({ type }) => type === 'span.model_request_end').map(event => event.model_request_start_id)
  assert.deepEqual(over, begun)
}

test('a session that its budget stops idles with budget_reached, and ends its turn once the budget is raised', async () => {
  const id = await pausedSession('RAISED')
  const tail = await followEvents(service, id)
  const stop = await tail.event(isPause)
  assert.equal(await statusOf(id), 'pending')
  assert.deepEqual(await statesOf(id), [['waiting', 'budget']])
  const { scope, scope_id, max_usd, needed_usd, resets_at } = stop['stop_reason'] as Record<string, unknown>
  assert.deepEqual([scope, scope_id, max_usd, resets_at], ['session', id, small, null])
  assert.ok(Number(needed_usd) > maxTokens * perToken)
  assert.equal(stop['prompt_id'], (await promptsOf(id))[0]?.id)
  assert.equal(requestsOf('RAISED').length, 1)

  await setBudget(id, 1)
  await tail.event(isEnd)
  mustBeWhole(await ended(id), 'RAISED')
  assert.equal(await statusOf(id), 'idle')
  assert.deepEqual(await statesOf(id), [['done', null]])
  const messages = await ok<OpencodeMessage[]>(`GET /session/${id}/message`)
  assert.deepEqual(
    messages.map(({ info }) => [info['role'], info['error']]),
    [
      ['user', undefined],
      ['assistant', undefined],
    ],
  )
  tail.close()
})

interface Refused {
  readonly error: { readonly message: string; readonly prompt_id: string; readonly state: string }
}

test('C6: POST /session/{id}/message is 402 when a budget stops the session, and a prompt that has not begun is cancelled', async () => {
  const id = await pausedSession('WAITS')
  const refused = await send(service, `POST /session/${id}/message`, { body: asked('behind') })
  const [, behind] = await promptsOf(id)
  assert.equal(refused.status, 402)
  const { message, prompt_id, state } = refused.json<Refused>().error
  assert.ok(message.includes(id) && message.includes(behind?.id ?? ''), message)
  assert.deepEqual([prompt_id, state], [behind?.id, 'cancelled'])
  assert.deepEqual(await statesOf(id), [
    ['waiting', 'budget'],
    ['cancelled', null],
  ])
  await setBudget(id, 1)
  await eventually(async () => JSON.stringify(await statesOf(id)) === '[["done",null],["cancelled",null]]')

  const { id: empty } = await ok<Session>('POST /session', {})
  await setBudget(empty, 0.001)
  const first = await send(service, `POST /session/${empty}/message`, { body: asked('NEVERBEGUN') })
  assert.deepEqual([first.status, first.json<Refused>().error.state], [402, 'cancelled'])
  assert.deepEqual(await statesOf(empty), [['cancelled', null]])
  assert.equal(await statusOf(empty), 'idle')
  assert.equal(requestsOf('NEVERBEGUN').length, 0)
})

test('C6: POST /session/{id}/message whose turn a budget stops in the middle is 402, and the prompt stays', async () => {
  const { id } = await ok<Session>('POST /session', {})
  await setBudget(id, small)
  const refused = await send(service, `POST /session/${id}/message`, { body: asked(turn('MIDDLE')) })
  const [prompt] = await promptsOf(id)
  const { prompt_id, state } = refused.json<Refused>().error
  assert.deepEqual([refused.status, prompt_id, state], [402, prompt?.id, 'pending'])
  assert.deepEqual(await statesOf(id), [['waiting', 'budget']])
  await setBudget(id, 1)
  mustBeWhole(await ended(id), 'MIDDLE')
})

test('D6: a session whose prompt waits for a budget is pending in records, lists and filters', async () => {
  const id = await pausedSession('PENDING')
  assert.equal(await statusOf(id), 'pending')
  const managed = await ok<Session>(`GET /api/v1/managed_agents/sessions/${id}`)
  assert.equal(managed.status, 'pending')
  const idsOf = async (status: string) =>
    (await ok<Session[]>(`GET /session?status=${status}&limit=200`)).map(row => row.id)
  assert.ok((await idsOf('pending')).includes(id))
  assert.ok(!(await idsOf('idle')).includes(id))
  await setBudget(id, 1)
  await ended(id)
  assert.ok((await idsOf('idle')).includes(id))
})

test('a budget that was raised unheard of, or whose period is over, is found within seconds', async () => {
  const raised = await pausedSession('UNHEARD')
  const over = await pausedSession('PERIOD')
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('update budgets set max_usd = 1 where scope_id = $1', [raised])
  await client.query(
    `update budgets set duration = '1h', reset_at = clock_timestamp() + interval '1 second' where scope_id = $1`,
    [over],
  )
  await client.end()
  mustBeWhole(await ended(raised), 'UNHEARD')
  mustBeWhole(await ended(over), 'PERIOD')
})

test('a paused session survives kill -9: it stays paused, and continues from its log when the budget is raised', async () => {
  const id = await pausedSession('KILLED')
  const before = await logOf(id)
  await service.kill()
  service = await startService(options)
  assert.equal(await statusOf(id), 'pending')
  assert.deepEqual(await statesOf(id), [['waiting', 'budget']])
  assert.deepEqual(await logOf(id), before, 'the restart begins nothing')
  await setBudget(id, 1)
  const log = await ended(id)
  assert.deepEqual(log.slice(0, before.length), before)
  mustBeWhole(log, 'KILLED')
})

test('a paused prompt can be withdrawn or stopped, and the session continues with the next one', async () => {
  for (const way of ['withdrawn', 'aborted'] as const) {
    const id = await pausedSession(way)
    assert.equal(
      (await send(service, `POST /session/${id}/prompt_async`, { body: { ...asked('no'), mode: 'reject' } })).status,
      409,
    )
    await ok(`POST /session/${id}/prompt_async`, asked(saying({ text: 'next' })))
    if (way === 'aborted') await ok(`POST /session/${id}/abort`)
    else await ok(`DELETE /session/${id}/prompts/${(await promptsOf(id))[0]?.id}`)
    // The next one asks for as much money, and waits for it in turn.
    await eventually(async () => JSON.stringify(await statesOf(id)) === '[["cancelled",null],["waiting","budget"]]')
    await setBudget(id, 1)
    await eventually(async () => JSON.stringify(await statesOf(id)) === '[["cancelled",null],["done",null]]')
  }
})

test('the key that queued the prompt pays: its budget stops the session, and raising it lets the session continue', async () => {
  const key = await ok<{ id: string; key: string }>('POST /api/keys', { label: 'ana', max_budget: small })
  const { id } = await ok<Session>('POST /session', {}, key.key)
  await ok(`POST /session/${id}/prompt_async`, asked(turn('BYKEY')), key.key)
  const stop = await eventually(async () => (await logOf(id)).find(isPause))
  const { scope, scope_id } = stop['stop_reason'] as Record<string, unknown>
  assert.deepEqual([scope, scope_id], ['key', key.id])
  await ok(`PATCH /api/keys/${key.id}`, { max_budget: 1 })
  mustBeWhole(await ended(id), 'BYKEY')
})

test('kill -9 right after the budget of several sessions was raised: every turn ends, none twice', async () => {
  const key = await ok<{ id: string; key: string }>('POST /api/keys', { label: 'bo', max_budget: 0.15 })
  const ids = await Promise.all(
    Array.from({ length: 6 }, async (_, at) => {
      const { id } = await ok<Session>('POST /session', {}, key.key)
      await ok(`POST /session/${id}/prompt_async`, asked(turn(`MANY-${at}`)), key.key)
      return id
    }),
  )
  const states = async () => (await Promise.all(ids.map(promptsOf))).flat()
  await eventually(async () => (await states()).every(({ state, held_by }) => state === 'done' || held_by === 'budget'))
  assert.ok((await states()).some(({ held_by }) => held_by === 'budget'))
  await ok(`PATCH /api/keys/${key.id}`, { max_budget: 5 })
  await service.kill()
  service = await startService(options)
  for (const id of ids) mustBeGapless(await ended(id))
})

test('a session waits while its key may make no further call, and continues without a message of the user', async () => {
  const key = await ok<{ key: string }>('POST /api/keys', { label: 'cy', max_parallel_requests: 1 })
  upstream.hold()
  const ids = await Promise.all(
    [1, 2].map(async at => {
      const { id } = await ok<Session>('POST /session', {}, key.key)
      await ok(`POST /session/${id}/prompt_async`, asked(`SLOTS-${at}`), key.key)
      return id
    }),
  )
  const logs = async () => (await Promise.all(ids.map(logOf))).flat()
  const waiting = await eventually(async () => (await logs()).find(({ type }) => type === 'session.error'))
  const { type, retry_status } = waiting['error'] as { type: string; retry_status: { type: string; attempt: number } }
  assert.deepEqual([type, retry_status.type, retry_status.attempt], ['model_rate_limited_error', 'retrying', 1])
  assert.equal(requestsOf('SLOTS').length, 1)
  upstream.release()
  for (const id of ids) await ended(id)
  assert.equal(requestsOf('SLOTS').length, 2)
})
