import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { hasOpencode, isolates, opencodeFile, startOpencodeProgram } from '../support/opencode/opencode-program.ts'
import { eventually } from '../support/service/eventually.ts'
import { freePort } from '../support/service/free-port.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { textsOf } from '../support/sessions/event-text.ts'
import { type Recorded, startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const offersWrite = ({ rawBody }: Recorded) => rawBody.includes('"name":"write"')
const lastText = ({ body }: Recorded) => JSON.stringify((body['messages'] as unknown[]).at(-1))

/** Answers with 529 that are still to come. */
let refusals = 0

const upstream = await startScriptedUpstream({
  script: request => {
    // A side question, such as for a title.
    if (!offersWrite(request)) return { text: 'ok' }
    const last = lastText(request)
    if (last.includes('was interrupted')) return { text: 'Finished.' }
    const usage = last.includes('dear') ? { usage: { input_tokens: 4_000, output_tokens: 36_000 } } : {}
    if (last.includes('tool_result')) return { text: 'The file is written.' }
    if (last.includes('How are you')) return { text: 'Fine.' }
    if (last.includes('in a rush') && refusals-- > 0) return { status: 529, error: 'too busy' }
    if (last.includes('in a rush')) return { text: 'No rush.' }
    const [, filePath] = /file (\/[\w/.-]+)/.exec(last) ?? []
    const input = { filePath, content: 'written by opencode\n' }
    return { thinking: 'No file yet.', text: 'Writing.', tool_calls: [{ name: 'write', input }], ...usage }
  },
})
after(() => upstream.stop())

const port = await freePort()
const password = 'password-of-the-harness'
const params = {
  model: 'anthropic/scripted',
  api_base: upstream.url,
  api_key: 'sk-upstream',
  input_cost_per_token: 0.000001,
  output_cost_per_token: 0.000001,
}
const service = await startService({
  config: JSON.stringify({
    model_list: [{ model_name: 'scripted', params }],
    outbound: { allow: [`127.0.0.1:${upstream.port}`, `127.0.0.1:${port}`] },
    runtime_harnesses: [{ alias: 'own', api_spec: 'opencode', command: [await opencodeFile()] }],
  }),
})
const skip = !hasOpencode && !process.env['CI'] && 'test/clients has opencode for Linux on x64 only'
const { work } = skip
  ? { work: '' }
  : await startOpencodeProgram(port, {
      password,
      settings: {
        provider: {
          gateway: {
            npm: '@ai-sdk/anthropic',
            name: 'gateway',
            options: { baseURL: `${service.url}/v1`, apiKey: service.key },
            models: { scripted: { name: 'scripted', tool_call: true, limit: { context: 200_000, output: 8_000 } } },
          },
        },
        permission: { '*': 'ask' },
      },
    })

async function ok<T>(line: string, body?: unknown): Promise<T> {
  const answer = await send(service, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}\n${service.logs()}`)
  return answer.text === '' ? (undefined as T) : answer.json<T>()
}

const logOf = async (id: string) =>
  (await ok<{ data: SessionEvent[] }>(`GET /v1/sessions/${id}/events?limit=1000`)).data
const typesOf = (log: readonly SessionEvent[]) => log.map(({ type }) => type)

/** The log once it ends with an event of that kind. */
async function endedWith(id: string, isEnd: (event: SessionEvent | undefined) => boolean): Promise<SessionEvent[]> {
  let log: SessionEvent[] = []
  const look = async () => {
    log = await logOf(id)
    return isEnd(log.at(-1)) && log
  }
  return await eventually(look, { withinMs: 180_000 }).catch(cause => {
    throw new Error(`the run did not end: ${JSON.stringify(log)}\n${service.logs()}`, { cause })
  })
}

const reasonOf = (event: SessionEvent | undefined) =>
  (event?.stop_reason as { readonly type: string } | undefined)?.type
const retryOf = (event: SessionEvent | undefined) =>
  (event?.error as { readonly retry_status: { readonly type: string } } | undefined)?.retry_status.type
const isAsked = (event: SessionEvent | undefined) => reasonOf(event) === 'requires_action'
/** A model call that the runtime makes again, such as after a rejection by a busy gateway, ends nothing. */
const isDone = (event: SessionEvent | undefined) => reasonOf(event) === 'end_turn' || retryOf(event) === 'terminal'

const prompt = (id: string, text: string, modelID = 'gateway/scripted') =>
  ok(`POST /session/${id}/prompt_async`, { model: { modelID }, parts: [{ type: 'text', text }] })

test('the real opencode is a harness: it asks, writes a file, and continues in the same conversation', {
  skip,
}, async () => {
  const harness = { alias: 'desk', api_spec: 'opencode', api_base: `http://127.0.0.1:${port}`, api_key: password }
  await ok('POST /api/runtime-harnesses', harness)
  assert.equal((await ok<{ ok: boolean }>('POST /api/runtime-harnesses/desk/test')).ok, true)
  const { id } = await ok<Session>('POST /session', { runtime: 'desk', title: 'At the desk' })
  await prompt(id, `Write the file ${join(work, 'work.txt')}`)
  const asked = await endedWith(id, event => isAsked(event) || isDone(event))
  const use = asked.find(({ type }) => type === 'agent.tool_use')
  assert.equal(use?.name, 'write', JSON.stringify(asked))
  assert.deepEqual(asked.at(-1)?.stop_reason, { type: 'requires_action', event_ids: [use?.id] })
  const confirmation = { type: 'user.tool_confirmation', tool_use_id: use?.id, result: 'allow' }
  await ok(`POST /v1/sessions/${id}/events`, { events: [confirmation] })
  const log = await endedWith(id, isDone)
  assert.deepEqual(textsOf(log, 'agent.message'), ['Writing.', 'The file is written.'], JSON.stringify(log))
  assert.match(textsOf(log, 'agent.tool_result')[0] ?? '', /Wrote file successfully/)
  assert.equal(await readFile(join(work, 'work.txt'), 'utf8'), 'written by opencode\n')
  const usage = log.findLast(({ type }) => type === 'session.usage')?.['usage'] as Record<string, number>
  assert.deepEqual([usage['input_tokens'], usage['output_tokens']], [50, 20])

  await prompt(id, 'How are you?')
  const more = await endedWith(id, event => isDone(event) && (event?.seq ?? 0) > (log.at(-1)?.seq ?? 0))
  assert.equal(textsOf(more, 'agent.message').at(-1), 'Fine.', JSON.stringify(typesOf(more)))
  const turn = upstream.requests.filter(offersWrite).at(-1)
  assert.match(turn?.rawBody.toString() ?? '', /The file is written/, 'it remembers')
})

test('a tool call of the real opencode that is denied is not made', { skip }, async () => {
  const { id } = await ok<Session>('POST /session', { runtime: 'desk', title: 'No' })
  await prompt(id, `Write the file ${join(work, 'work.txt')}`)
  const asked = await endedWith(id, event => isAsked(event) || isDone(event))
  const use = asked.find(({ type }) => type === 'agent.tool_use')
  const denial = { type: 'user.tool_confirmation', tool_use_id: use?.id, result: 'deny', deny_message: 'Not in here.' }
  await ok(`POST /v1/sessions/${id}/events`, { events: [denial] })
  const log = await endedWith(id, isDone)
  assert.match(textsOf(log, 'agent.tool_result')[0] ?? '', /Not in here/)
  assert.equal(textsOf(log, 'agent.message').at(-1), 'The file is written.', 'the model continues with the refusal')
})

test('a model call that is rejected is made again by the real opencode, and the run continues', { skip }, async () => {
  const { id } = await ok<Session>('POST /session', { runtime: 'desk', title: 'Rush' })
  refusals = 10
  await prompt(id, 'You are in a rush')
  const retrying = await endedWith(id, event => retryOf(event) === 'retrying')
  refusals = 0
  const log = await endedWith(id, isDone)
  assert.deepEqual(textsOf(retrying, 'agent.message'), [])
  assert.deepEqual(textsOf(log, 'agent.message'), ['No rush.'], JSON.stringify(log))
})

interface LedgerRow {
  readonly session_id: string | null
  readonly model: string
  readonly input_tokens: number
  readonly output_tokens: number
}

const skipOwn = skip || ((await isolates()) ? false : 'this machine has no bubblewrap')

test('an opencode of our own works in the sandbox of its session, its model calls are in the ledger, and a budget stops and continues it', {
  skip: skipOwn,
}, async () => {
  const { id } = await ok<Session>('POST /session', { runtime: 'own', title: 'Inside' })
  await prompt(id, 'Write the file /workspace/work.txt', 'scripted')
  const log = await endedWith(id, isDone)
  assert.deepEqual(textsOf(log, 'agent.message'), ['Writing.', 'The file is written.'], JSON.stringify(log))
  const file = join(service.dataDir, 'workspaces', id, 'work.txt')
  assert.equal(await readFile(file, 'utf8'), 'written by opencode\n')
  // Calls are booked in batches, a moment after their answers.
  const rows = async () => (await ok<{ calls: LedgerRow[] }>(`GET /api/usage/calls?session_id=${id}`)).calls
  await eventually(async () => (await rows()).length >= 2, { what: 'two calls in the ledger' })
  assert.deepEqual(
    (await rows()).map(({ session_id, input_tokens, output_tokens }) => [session_id, input_tokens, output_tokens]),
    [
      [id, 25, 10],
      [id, 25, 10],
    ],
  )
  assert.ok(!JSON.stringify(upstream.requests.map(({ headers }) => headers)).includes('sk-run-'))

  await ok(`PUT /api/budgets/session/${id}`, { max_budget: 0.06 })
  await prompt(id, 'Write the dear file /workspace/work.txt', 'scripted')
  const isLater = (event: SessionEvent | undefined) => (event?.seq ?? 0) > (log.at(-1)?.seq ?? 0)
  const stopped = await endedWith(id, event => isLater(event) && event?.type === 'session.status_idle')
  assert.equal(reasonOf(stopped.at(-1)), 'budget_reached', JSON.stringify(stopped))
  assert.deepEqual(textsOf(stopped.filter(isLater), 'agent.message'), ['Writing.'])
  await ok(`PUT /api/budgets/session/${id}`, { max_budget: 10 })
  const more = await endedWith(id, isDone)
  assert.deepEqual(textsOf(more.filter(isLater), 'agent.message'), ['Writing.', 'Finished.'], JSON.stringify(more))
})
