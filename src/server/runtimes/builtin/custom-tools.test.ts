import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextOver, prompt, rigOver, session } from '../../../../test/support/sessions/builtin-rig.ts'
import { scriptedModel } from '../../../../test/support/sessions/scripted-model.ts'
import { awaitedApprovals, type NewEvent, type NewEventOf } from '../../../contract/events.ts'
import type { CustomToolEnd } from '../../tools/custom-tools.ts'
import { partsOf, type RunContext } from '../runtime.ts'
import { builtinRuntime } from './runtime.ts'

const ring = { type: 'custom', name: 'ring', description: 'Rings', input_schema: { type: 'object' } }
const agent = { ...session, tools: [ring, { type: 'bash' }, { type: 'read' }] }
const asked: NewEvent = { type: 'user.message', prompt_id: prompt.id, content: prompt.parts }
const began: NewEvent = { type: 'session.status_running', prompt_id: prompt.id, run_id: 'run_1' }

interface ModelCall {
  readonly id: string
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
}
const call = (id: string, name: string, input: ModelCall['input'] = {}): ModelCall => ({ id, name, input })

/** A model that makes these calls, then is done. */
const modelOf = (calls: readonly ModelCall[]) =>
  scriptedModel(at =>
    at === 0 ? calls.map(each => ({ type: 'tool_use', ...each })) : [{ type: 'text', text: 'done' }],
  )

interface Play {
  readonly calls: readonly ModelCall[]
  readonly ran?: string[]
  /** Gets the messages of each request. */
  readonly bodies?: string[]
  readonly ends?: ReadonlyMap<string, CustomToolEnd>
  readonly changes?: Partial<RunContext>
  readonly batches?: number
  readonly tools?: unknown
}

/** Runs on `log` until `batches` were stored; returns the log with ids. `ends` are by the runtime's id of a call. */
async function runOn(log: readonly NewEvent[], { calls, ran = [], bodies = [], ends, changes, tools, ...play }: Play) {
  const stored = [...log]
  let left = play.batches ?? Number.POSITIVE_INFINITY
  const customToolEnd = async (eventId: string) => {
    const use = stored.find(({ id }) => id === eventId)
    const end = ends?.get(use?.tool_use_id ?? '')
    const isInLog = stored.some(event => event.custom_tool_use_id === eventId)
    // A client answers by an event, with which the wait ends.
    if (end?.state === 'answered' && !isInLog) stored.push(answerTo(eventId, end.content[0]?.text ?? ''))
    return end
  }
  const gateway = modelOf(calls)
  const runtime = builtinRuntime({ gateway, ...rigOver(ran) })
  const own = tools === undefined ? agent : { ...agent, tools }
  for await (const batch of runtime.run(own, prompt, contextOver(log, { customToolEnd, ...changes }))) {
    if (left-- <= 0) break
    stored.push(...partsOf(batch).events.map((event, at) => ({ id: `evt_${stored.length + at}`, ...event })))
  }
  bodies.push(...gateway.bodies.map(({ messages }) => JSON.stringify(messages)))
  return stored
}

const answered = (text: string): CustomToolEnd => ({
  state: 'answered',
  content: [{ type: 'text', text }],
  is_error: false,
})
const answerTo = (custom_tool_use_id: string, text: string): NewEventOf<'user.custom_tool_result'> => ({
  type: 'user.custom_tool_result',
  id: `evt_answer_${custom_tool_use_id}`,
  custom_tool_use_id,
  content: [{ type: 'text', text }],
})
const typesOf = (log: readonly NewEvent[]) => log.map(({ type }) => type)
const usesIn = (log: readonly NewEvent[]) => log.filter(({ type }) => type === 'agent.custom_tool_use')

test('a custom tool is called with an event; the run parks and continues with the answer of the client', async () => {
  const calls = [call('toolu_1', 'ring', { times: 2 })]
  const bodies: string[] = []
  const parked = await runOn([asked, began], { calls, bodies })
  const [use] = usesIn(parked)
  assert.deepEqual(
    [use?.name, use?.input, use?.tool_use_id, use?.timeout_seconds],
    ['ring', { times: 2 }, 'toolu_1', 86_400],
  )
  assert.deepEqual(parked.flatMap(awaitedApprovals), [use?.id])
  assert.equal(parked.at(-1)?.type, 'session.status_idle')

  const ends = new Map([['toolu_1', answered('rung twice')]])
  const log = await runOn([...parked, answerTo(use?.id ?? '', 'rung twice')], { calls, bodies, ends })
  assert.deepEqual(typesOf(log).slice(parked.length), [
    'user.custom_tool_result',
    'session.status_running',
    'span.model_request_start',
    'agent.message',
    'span.model_request_end',
    'session.usage',
    'session.status_idle',
  ])
  assert.match(
    bodies.at(-1) ?? '',
    /"type":"tool_result","tool_use_id":"toolu_1","content":\[\{"type":"text","text":"rung twice"/,
  )
})

test('a run that is interrupted at any batch calls the client once and uses its answer once', async () => {
  const calls = [call('toolu_1', 'ring'), call('toolu_2', 'bash', { command: 'after' })]
  const ends = new Map([['toolu_1', answered('rung')]])
  for (let cut = 0; cut < 9; cut++) {
    const ran: string[] = []
    const bodies: string[] = []
    const first = await runOn([asked, began], { calls, ends, ran, bodies, batches: cut })
    const log = await runOn(first, { calls, ends, ran, bodies })
    assert.equal(usesIn(log).length, 1, `cut after ${cut} batches`)
    assert.equal(log.filter(({ type }) => type === 'agent.tool_result').length, 1)
    assert.equal(log.flatMap(awaitedApprovals).length, 1)
    assert.equal((bodies.at(-1) ?? '').split('"rung"').length, 2, `cut after ${cut} batches: ${bodies.at(-1)}`)
    assert.ok(ran.length <= 1, `it ran ${ran.length} times`)
    assert.equal(log.at(-1)?.type, 'session.status_idle')
  }
})

test('the conversation after a crash equals the one in memory: results are in the order of the calls', async () => {
  const calls = [call('toolu_1', 'ring'), call('toolu_2', 'ring'), call('toolu_3', 'read', { file_path: 'a' })]
  const parked = await runOn([asked, began], { calls })
  const [one, two] = usesIn(parked)
  // The second is answered first.
  const answers = [answerTo(two?.id ?? '', 'second'), answerTo(one?.id ?? '', 'first')]
  const ends = new Map([
    ['toolu_1', answered('first')],
    ['toolu_2', answered('second')],
  ])
  const inMemory: string[] = []
  await runOn(parked, { calls, ends, bodies: inMemory })
  const fromLog: string[] = []
  await runOn([...parked, ...answers], { calls, ends, bodies: fromLog })
  assert.equal(inMemory.at(-1), fromLog.at(-1))
  assert.match(fromLog.at(-1) ?? '', /toolu_3.*toolu_1.*first.*toolu_2.*second/s)
})

test('several calls of one turn: the run continues when all are answered', async () => {
  const calls = [call('toolu_1', 'ring'), call('toolu_2', 'ring')]
  const parked = await runOn([asked, began], { calls })
  assert.equal(parked.flatMap(awaitedApprovals).length, 2)
  const still = await runOn(parked, { calls, ends: new Map([['toolu_1', answered('first')]]) })
  assert.deepEqual(typesOf(still).slice(parked.length), ['user.custom_tool_result'])
})

test('calls that may change something wait for the client, reads do not', async () => {
  const ran: string[] = []
  const calls = [
    call('toolu_1', 'ring'),
    call('toolu_2', 'bash', { command: 'after' }),
    call('toolu_3', 'read', { file_path: 'a' }),
  ]
  const parked = await runOn([asked, began], { calls, ran })
  const results = (log: readonly NewEvent[]) =>
    log.filter(({ type }) => type === 'agent.tool_result').map(event => event.tool_use_id)
  assert.deepEqual([results(parked), ran], [['toolu_3'], []])
  const log = await runOn(parked, { calls, ran, ends: new Map([['toolu_1', answered('rung')]]) })
  assert.deepEqual([results(log), ran], [['toolu_3', 'toolu_2'], ['after']])
})

test('a call without an answer in time gives the model an error', async () => {
  const bodies: string[] = []
  const ends = new Map<string, CustomToolEnd>([['toolu_1', { state: 'expired' }]])
  const log = await runOn([asked, began], { calls: [call('toolu_1', 'ring')], ends, bodies })
  assert.match(JSON.stringify(log.find(({ type }) => type === 'agent.tool_result')), /no client answered.*86400 s/)
  assert.match(bodies.at(-1) ?? '', /no client answered.*"is_error":true/)
})

test('a run that is stopped while it waits closes the open calls and keeps the answers that arrived', async () => {
  const calls = [call('toolu_1', 'ring'), call('toolu_2', 'ring')]
  const parked = await runOn([asked, began], { calls })
  const [one] = usesIn(parked)
  const half = [...parked, answerTo(one?.id ?? '', 'first')]
  const stopped = await runOn(half, { calls, changes: { signal: AbortSignal.abort() } })
  const closed = stopped.filter(({ type }) => type === 'agent.tool_result')
  assert.deepEqual(
    closed.map(event => event.tool_use_id),
    ['toolu_2'],
  )
  assert.match(JSON.stringify(closed), /stopped before the call was answered/)
  const bodies: string[] = []
  await runOn([...stopped, began], { calls, bodies })
  assert.match(bodies.at(-1) ?? '', /toolu_2.*stopped before.*toolu_1.*first/s)
})

test('a tool that is removed while its call waits: the answer still reaches the model, wherever the process is killed', async () => {
  const calls = [call('toolu_1', 'ring')]
  const tools = [{ type: 'bash' }]
  const ends = new Map([['toolu_1', answered('rung')]])
  const parked = await runOn([asked, began], { calls })
  for (let cut = 0; cut < 5; cut++) {
    const bodies: string[] = []
    const first = await runOn(parked, { calls, ends, bodies, tools, batches: cut })
    const log = await runOn(first, { calls, ends, bodies, tools })
    assert.ok(!typesOf(log).includes('agent.tool_result'), `killed after ${cut} batches`)
    assert.equal((bodies.at(-1) ?? '').split('"rung"').length, 2, `killed after ${cut} batches: ${bodies.at(-1)}`)
    assert.equal(log.at(-1)?.type, 'session.status_idle')
  }
  const still = await runOn(parked, { calls, tools })
  assert.deepEqual(still, parked, 'without an answer the run waits on')
  const expired = new Map<string, CustomToolEnd>([['toolu_1', { state: 'expired' }]])
  assert.match(JSON.stringify(await runOn(parked, { calls, tools, ends: expired })), /no client answered.*86400 s/)
  const again = await runOn([asked, began], { calls, tools })
  assert.match(JSON.stringify(again), /tool ring does not exist/, 'a new call is not sent to a client')
})

test('a session whose agent has only custom tools offers no others', async () => {
  const bodies: string[] = []
  const calls = [call('toolu_1', 'bash', { command: 'x' })]
  const log = await runOn([asked, began], { calls, bodies, tools: [ring] })
  assert.match(JSON.stringify(log), /tool bash does not exist; the tools are ring/)
})
