import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { clientShell } from '../clients/shell.ts'
import { doing, fakeProgram } from '../support/acp/acp-rig.ts'
import { type AgUiEvent, type FrontEnd, frontEnd } from '../support/ag-ui/ag-ui-client.ts'
import { notBehindProxy } from '../support/contract/contract-tests.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { blocksOf } from '../support/pages/docs-page.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { lack } from '../support/service/lack.ts'
import { open, send, sendOk, type Target } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { bash, configFor, saying } from '../support/upstream/scripted-service.ts'
import { type Recorded, startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
const { url: databaseUrl } = await freshDatabase()
const runtime_harnesses = [{ alias: 'fake', api_spec: 'acp', command: ['node', fakeProgram], sandbox: 'none' }]
const config = JSON.stringify({ ...JSON.parse(configFor(upstream)), demo: true, runtime_harnesses })
const service = await startService({ databaseUrl, config })
/** Another replica, which runs no sessions. */
const elsewhere = await startService({ databaseUrl, config, env: { SWITCHYARD_ROLE: 'api' } })
after(async () => {
  await elsewhere.stop()
  await service.stop()
  await upstream.stop()
})

const newAgent = async (more: object = {}): Promise<string> => {
  const body = { name: 'Scribe', owner_id: 'ada', model: 'scripted', ...more }
  return (await sendOk<Agent>(service, 'POST /api/agents', { body })).id
}
const agent = await newAgent()
const careful = await newAgent({ tools: [{ type: 'bash', permission_policy: { type: 'always_ask' } }] })
const readFile = {
  name: 'read_file',
  description: 'Reads a document.',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
}
const reading = (path: string) => ({ tool_calls: [{ name: 'read_file', input: { path } }] })

const typesOf = (events: readonly AgUiEvent[]) => events.map(({ type }) => type)
const textsOf = ({ agent: { messages } }: FrontEnd) =>
  messages.flatMap(({ role, content }) => (role === 'assistant' && content ? [content] : []))
const outcomeOf = (events: readonly AgUiEvent[]) => (events.at(-1)?.['outcome'] ?? {}) as Record<string, unknown>
const lastRequest = (): Recorded => upstream.requests.at(-1) ?? assert.fail()
const systemOf = ({ body }: Recorded): string => JSON.stringify(body['system'])
const sessionOf = (events: readonly AgUiEvent[]): string =>
  String((events[0] as { readonly metadata?: Readonly<Record<string, unknown>> } | undefined)?.metadata?.['session_id'])

/** The status and the message of a request that starts no run. */
async function rejected(input: object, { to = agent, by = service as Target } = {}): Promise<[number, string]> {
  const given = { threadId: 'rejected', runId: crypto.randomUUID(), messages: [], ...input }
  const { status, headers, text } = await send(by, `POST /ag-ui/${to}`, { body: given })
  assert.match(String(headers['content-type']), /^application\/json/)
  return [status, text]
}
const user = (content: unknown, id = crypto.randomUUID() as string) => ({ id, role: 'user', content })

test('a conversation: texts, reasoning, tool calls with results, and one session for the thread', async () => {
  const chat = await frontEnd(service, agent)
  const first = await chat.prompt(
    saying({ thinking: 'Hm.', text: 'Looking.', ...bash('echo found') }, { text: 'It is found, I think so.' }),
  )
  assert.deepEqual(
    [first[0]?.type, first[0]?.['protocolVersion'], first.at(-1)?.type],
    ['RUN_STARTED', '1.0', 'RUN_FINISHED'],
  )
  assert.deepEqual(outcomeOf(first), { type: 'success' })
  for (const type of [
    'REASONING_MESSAGE_CONTENT',
    'STEP_STARTED',
    'STEP_FINISHED',
    'TOOL_CALL_ARGS',
    'TOOL_CALL_RESULT',
  ])
    assert.ok(typesOf(first).includes(type), type)
  assert.deepEqual(textsOf(chat), ['Looking.', 'It is found, I think so.'])
  const roles = chat.agent.messages.map(({ role }) => role)
  assert.deepEqual(
    roles.filter(role => role !== 'reasoning'),
    ['user', 'assistant', 'tool', 'assistant'],
  )
  assert.match(String(chat.agent.messages.find(({ role }) => role === 'tool')?.content), /found/)

  const second = await chat.prompt(saying({ text: 'Again.' }), {
    context: [{ description: 'Name of the user', value: 'Ada' }],
    forwardedProps: { colour: 'red' },
  })
  assert.equal(sessionOf(second), sessionOf(first))
  assert.equal(chat.headers().get('x-switchyard-ignored'), 'forwardedProps')
  assert.match(systemOf(lastRequest()), /Name of the user:\\nAda/)
  assert.match(JSON.stringify(lastRequest().body['messages']), /It is found, I think so/)
  const session = await sendOk<Session>(service, `GET /session/${sessionOf(first)}`)
  assert.equal(session.agent_id, agent)

  const other = await frontEnd(service, agent)
  const elsewhere = await other.prompt(saying({ text: 'New.' }))
  assert.notEqual(sessionOf(elsewhere), sessionOf(first))
  assert.doesNotMatch(systemOf(lastRequest()), /Ada/)
})

test('a tool of the front-end: the run ends with its call, and the next input has its result', async () => {
  const chat = await frontEnd(service, agent)
  const tools = [readFile]
  const first = await chat.prompt(saying(reading('a.txt'), { text: 'Thanks.' }), { tools })
  const call = chat.agent.messages.at(-1)?.toolCalls?.[0] ?? assert.fail()
  assert.deepEqual([call.function.name, JSON.parse(call.function.arguments)], ['read_file', { path: 'a.txt' }])
  assert.deepEqual(outcomeOf(first), { type: 'success', pendingToolCallIds: [call.id] })

  const unanswered = { threadId: chat.agent.threadId, messages: [user('And now?')] }
  const [status, text] = await rejected(unanswered)
  assert.deepEqual([status, /result of tool call evt_\w+ \(read_file\)/.test(text)], [400, true], text)

  chat.agent.addMessage({ id: 'answer', role: 'tool', toolCallId: call.id, content: 'basic 10 EUR' })
  const second = await chat.run({ tools })
  assert.deepEqual(textsOf(chat), ['Thanks.'])
  assert.deepEqual(outcomeOf(second), { type: 'success' })
  assert.ok(!typesOf(second).includes('TOOL_CALL_RESULT'))
  assert.match(JSON.stringify(lastRequest().body['messages']), /basic 10 EUR/)
  await chat.prompt(saying({ text: 'Bye.' }))
  assert.doesNotMatch(JSON.stringify(lastRequest().body['tools']), /read_file/, 'tools are those of the last input')
})

test('an approval is an interrupt: allowed, with other arguments, denied, or answered elsewhere', async () => {
  const chat = await frontEnd(service, careful)
  const ask = async (command: string) => {
    const events = await chat.prompt(saying(bash(command), { text: `Done with ${command}.` }))
    assert.equal(outcomeOf(events)['type'], 'interrupt')
    const [interrupt] = chat.agent.pendingInterrupts
    assert.match(interrupt?.message ?? '', /^Allow bash /)
    return interrupt ?? assert.fail()
  }
  const answer = async (interruptId: string, more: object) =>
    chat.run({ resume: [{ interruptId, status: 'resolved', ...more }] })
  const resultIn = (events: readonly AgUiEvent[]) => events.find(({ type }) => type === 'TOOL_CALL_RESULT')

  const { id, toolCallId } = await ask('echo one')
  const allowed = await answer(id, { payload: { approved: true } })
  assert.equal(resultIn(allowed)?.['toolCallId'], toolCallId)
  assert.match(String(resultIn(allowed)?.['content']), /one/)
  assert.ok(!typesOf(allowed).includes('TOOL_CALL_START'), 'the call is not sent again')

  const edited = await answer((await ask('echo two')).id, {
    payload: { approved: true, editedArgs: { command: 'echo three' } },
  })
  assert.match(String(resultIn(edited)?.['content']), /three/)

  const denied = await answer((await ask('echo four')).id, { payload: { approved: false, reason: 'not on a Friday' } })
  assert.match(String(resultIn(denied)?.['content']), /not on a Friday/)

  const elsewhere = await ask('echo five')
  await sendOk(service, `POST /api/approvals/${elsewhere.id}`, { body: { result: 'allow' } })
  const shown = await answer(elsewhere.id, { payload: { approved: true } })
  assert.match(String(resultIn(shown)?.['content']), /five/)
  assert.equal(textsOf(chat).at(-1), 'Done with echo five.')
})

test('an approval of a called agent is an interrupt, too', async () => {
  const tools = [{ type: 'bash', permission_policy: { type: 'always_ask' } }]
  const helper = await newAgent({ name: 'Helper', tools })
  const chat = await frontEnd(service, await newAgent({ config: { agents: [helper] } }))
  const task = saying(bash('echo inside'), { text: 'Helped.' })
  const call = { tool_calls: [{ name: 'agent__helper', input: { prompt: task } }] }
  const asked = await chat.prompt(saying(call, { text: 'Thanks.' }))
  assert.equal(outcomeOf(asked)['type'], 'interrupt')
  const [interrupt] = chat.agent.pendingInterrupts
  assert.equal(interrupt?.message, 'Allow bash {"command":"echo inside"}?')
  const resume = [{ interruptId: interrupt?.id, status: 'resolved', payload: { approved: true } }]
  const ended = await chat.run({ resume })
  assert.deepEqual(outcomeOf(ended), { type: 'success' })
  assert.match(String(ended.find(({ type }) => type === 'TOOL_CALL_RESULT')?.['content']), /Helped/)
  assert.deepEqual(textsOf(chat), ['Thanks.'])
})

test('front-end and agent share a state', async () => {
  const chat = await frontEnd(service, agent, { initialState: { title: 'Soup', steps: ['cut'] } })
  const operations = [
    { op: 'replace', path: '/title', value: 'Stew' },
    { op: 'add', path: '/steps/-', value: 'cook' },
  ]
  const change = { tool_calls: [{ name: 'update_shared_state', input: { operations } }] }
  const wrong = {
    tool_calls: [{ name: 'update_shared_state', input: { operations: [{ op: 'remove', path: '/no' }] } }],
  }
  const events = await chat.prompt(saying(change, wrong, { text: 'Changed.' }))
  assert.deepEqual(chat.agent.state, { title: 'Stew', steps: ['cut', 'cook'] })
  assert.equal(typesOf(events).filter(type => type === 'STATE_DELTA').length, 1)
  assert.match(systemOf(lastRequest()), /Soup/, 'the state as of the start of the run')
  const results = events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ content }) => content)
  assert.deepEqual(results, ['state updated', 'path "/no" does not exist'])

  await chat.prompt(saying({ text: 'Yes.' }))
  assert.match(systemOf(lastRequest()), /Stew.*cook/)
  chat.agent.setState({})
  await chat.prompt(saying({ text: 'Gone.' }))
  assert.doesNotMatch(systemOf(lastRequest()), /Stew/)
  assert.doesNotMatch(JSON.stringify(lastRequest().body['tools']), /update_shared_state/)
})

test('a lost connection does not stop the run, and the same run id follows it again', async () => {
  const before = upstream.requests.length
  const chat = await frontEnd(service, agent)
  const runId = crypto.randomUUID()
  const whole = 'One two three four five six seven.'
  chat.agent.addMessage(user(saying({ text: whole, pauseAtFrame: 5 })))
  const lost = chat.run({ runId }).then(
    () => undefined,
    () => undefined,
  )
  await eventually(() => textsOf(chat).length > 0)
  chat.agent.abortRun()
  await lost
  const part = String(textsOf(chat)[0])
  assert.ok(whole.startsWith(part) && part !== whole, `the text comes in pieces: ${part}`)

  const following = chat.run({ runId })
  await eventually(() => typesOf(chat.events).includes('MESSAGES_SNAPSHOT'))
  upstream.release()
  const again = await following
  assert.deepEqual(typesOf(again).slice(0, 2), ['RUN_STARTED', 'MESSAGES_SNAPSHOT'])
  assert.deepEqual(textsOf(chat), [whole])
  const third = await chat.run({ runId })
  assert.deepEqual(textsOf(chat), [whole], 'also after its end')
  assert.equal(third.at(-1)?.type, 'RUN_FINISHED')
  assert.equal(upstream.requests.length, before + 1, 'the model was called once')
  assert.deepEqual(outcomeOf(await chat.prompt(saying({ text: 'Next.' }))), { type: 'success' })
  assert.deepEqual(textsOf(chat), [whole, 'Next.'])
  const input = { threadId: chat.agent.threadId, runId, messages: [user('Another')] }
  const [status, text] = await rejected(input)
  assert.deepEqual([status, text.includes(`runId ${runId} was used for another input`)], [409, true], text)
})

test('on two replicas: a run that the other one executes is shown as a whole, and results come in at either', async () => {
  const far = await frontEnd(elsewhere, agent)
  const [first, second] = ['One two three four five six seven.', 'Eight nine ten eleven twelve thirteen.']
  const tools = [readFile]
  const answers = [
    { text: first, pauseAtFrame: 5, ...reading('a.txt') },
    { text: second, pauseAtFrame: 5 },
  ]
  // From now on the other replica knows that this one shows texts while they are written.
  await far.prompt(saying({ text: 'Hello.' }), { tools })
  const asking = far.prompt(saying(...answers), { tools })
  await eventually(() => textsOf(far).length > 1)
  assert.notEqual(textsOf(far)[1], first, 'the text comes in pieces')
  upstream.release()
  const asked = await asking
  const call = far.agent.messages.flatMap(({ toolCalls = [] }) => toolCalls)[0] ?? assert.fail()
  assert.deepEqual(outcomeOf(asked), { type: 'success', pendingToolCallIds: [call.id] })

  const result = { id: 'result', role: 'tool', toolCallId: call.id, content: 'basic 10 EUR' }
  const known = { threadId: far.agent.threadId, initialMessages: [...far.agent.messages, result] }
  const near = await frontEnd(service, agent, known)
  const runId = crypto.randomUUID()
  // The front-end no longer has the tool.
  const answering = near.run({ runId })
  await eventually(() => textsOf(near).length > 2)
  far.agent.addMessage(result)
  const following = far.run({ runId })
  await eventually(() => typesOf(far.events).includes('MESSAGES_SNAPSHOT'))
  upstream.release()
  for (const events of await Promise.all([answering, following]))
    assert.deepEqual(outcomeOf(events), { type: 'success' })
  assert.deepEqual(textsOf(near), ['Hello.', first, second])
  assert.deepEqual(textsOf(far), ['Hello.', first, second])
  assert.match(JSON.stringify(lastRequest().body['messages']), /basic 10 EUR/)
  assert.doesNotMatch(JSON.stringify(lastRequest().body['tools']), /read_file/)
})

test('a prompt of another client does not get the front-end, and its questions are not asked there', async () => {
  const chat = await frontEnd(service, careful)
  const tools = [readFile]
  const id = sessionOf(await chat.prompt(saying({ text: 'Hello.' }), { tools }))
  const parts = [{ type: 'text', text: saying(bash('echo other'), { text: 'Other.' }) }]
  const sent = { model: { modelID: 'scripted' }, parts }
  assert.equal((await send(service, `POST /session/${id}/prompt_async`, { body: sent })).status, 204)
  const [approval] = await eventually(async () => {
    const line = `GET /api/approvals?session_id=${id}&state=pending`
    const { approvals } = await sendOk<{ approvals: { id: string }[] }>(service, line)
    return approvals.length > 0 && approvals
  })
  assert.doesNotMatch(JSON.stringify(lastRequest().body['tools']), /read_file/)
  const waiting = chat.prompt(saying({ text: 'Mine.' }), { tools })
  await eventually(() => typesOf(chat.events).filter(type => type === 'RUN_STARTED').length === 2)
  await sendOk(service, `POST /api/approvals/${approval?.id}`, { body: { result: 'allow' } })
  assert.deepEqual(outcomeOf(await waiting), { type: 'success' })
  assert.deepEqual(textsOf(chat), ['Hello.', 'Mine.'])
  assert.match(JSON.stringify(lastRequest().body['tools']), /read_file/)
})

test('an agent of another runtime: texts and tool calls, and what it cannot use is reported', async () => {
  const chat = await frontEnd(service, await newAgent({ config: { runtime: 'fake' } }))
  const call = { toolCallId: 'c1', title: 'List', kind: 'execute', rawInput: { command: 'ls' } }
  const content = [{ type: 'content', content: { type: 'text', text: 'a.txt' } }]
  const steps = [
    { say: 'Listing.' },
    { update: { sessionUpdate: 'tool_call', status: 'in_progress', ...call } },
    { update: { sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed', content } },
    { say: 'Listed.' },
  ]
  const events = await chat.prompt(doing(...steps), { tools: [readFile], context: [{ description: 'A', value: 'b' }] })
  assert.deepEqual(outcomeOf(events), { type: 'success' })
  assert.deepEqual(textsOf(chat), ['Listing.', 'Listed.'])
  const started = events.find(({ type }) => type === 'TOOL_CALL_START')
  const ended = events.find(({ type }) => type === 'TOOL_CALL_RESULT')
  assert.deepEqual([started?.['toolCallId'], ended?.['content']], [ended?.['toolCallId'], 'a.txt'])
  assert.equal(chat.headers().get('x-switchyard-ignored'), 'tools, context')
})

test('two requests at once with one run start it once', async () => {
  const before = upstream.requests.length
  const body = { threadId: crypto.randomUUID(), runId: 'once', messages: [user(saying({ text: 'Once.' }), 'm')] }
  const answers = await Promise.all([1, 2, 3].map(() => send(service, `POST /ag-ui/${agent}`, { body })))
  for (const { status, text } of answers) assert.deepEqual([status, text.includes('"delta":"Once')], [200, true], text)
  assert.equal(upstream.requests.length, before + 1)
})

test('a run that is stopped is cancelled', async () => {
  const body = {
    threadId: crypto.randomUUID(),
    runId: 'stop',
    messages: [user(saying({ text: 'Never ending', pauseAtFrame: 5 }))],
  }
  const response = await open(service, `POST /ag-ui/${agent}`, { body })
  const frames: string[] = []
  response.setEncoding('utf8').on('data', chunk => frames.push(chunk))
  const ended = new Promise(resolve => response.once('end', resolve))
  await eventually(() => frames.join('').includes('TEXT_MESSAGE_CONTENT'))
  const { session_id } = JSON.parse(frames.join('').split('\n')[0]?.slice('data: '.length) ?? '').metadata
  await send(service, `POST /session/${session_id}/interrupt`)
  await ended
  upstream.release()
  assert.match(frames.join(''), /"type":"RUN_FINISHED".*"outcome":\{"type":"cancelled"\}/)
})

test('a run that fails ends with an error, and the thread continues', async () => {
  const chat = await frontEnd(service, agent)
  const failed = await chat.prompt(saying({ status: 400, error: 'the model says no' }))
  assert.deepEqual(typesOf(failed).slice(-1), ['RUN_ERROR'])
  assert.match(String(failed.at(-1)?.['message']), /the model says no/)
  assert.deepEqual(outcomeOf(await chat.prompt(saying({ text: 'Better.' }))), { type: 'success' })
  assert.deepEqual(textsOf(chat), ['Better.'])
})

test('files of a message are files of the prompt', async () => {
  const chat = await frontEnd(service, agent)
  const csv = { type: 'data', value: Buffer.from('a,b').toString('base64'), mimeType: 'text/csv' }
  const events = await chat.prompt([
    { type: 'text', text: saying(bash('cat uploads/*/list.csv'), { text: 'Read.' }) },
    { type: 'document', source: csv, metadata: { filename: 'list.csv' } },
  ])
  assert.match(String(events.find(({ type }) => type === 'TOOL_CALL_RESULT')?.['content']), /a,b/)
})

test('a thread belongs to its principal, and an agent to its owner', async () => {
  const threadId = crypto.randomUUID()
  const [ada, bob] = [await holderOf(service, { owner_id: 'ada' }), await holderOf(service, { owner_id: 'bob' })]
  const [own, others] = [await frontEnd(service, agent, { threadId }), await frontEnd(ada, agent, { threadId })]
  const [first, second] = [await own.prompt(saying({ text: 'Mine.' })), await others.prompt(saying({ text: 'Hers.' }))]
  assert.notEqual(sessionOf(second), sessionOf(first))
  assert.doesNotMatch(JSON.stringify(lastRequest().body['messages']), /Mine/)
  assert.equal((await rejected({ messages: [user('Hi')] }, { by: bob }))[0], 404)
  assert.equal((await rejected({ messages: [user('Hi')] }, { by: { url: service.url } }))[0], 401)
  await sendOk(service, `DELETE /session/${sessionOf(first)}`)
  assert.notEqual(sessionOf(await own.prompt(saying({ text: 'Anew.' }))), sessionOf(first), 'after the deletion')
})

const wrongInputs: readonly (readonly [input: object, status: number, problem: RegExp])[] = [
  [{}, 400, /messages must have a new message with role/],
  [{ threadId: '' }, 400, /threadId/],
  [{ runId: 'a\nb' }, 400, /runId/],
  [{ messages: [{ id: 'x', role: 'user', content: '' }] }, 400, /messages\[0\]\.content must not be blank/],
  [
    { messages: [user([{ type: 'image', source: { type: 'url', value: 'https://example.com/a.png' } }])] },
    400,
    /source is not supported/,
  ],
  [
    { messages: [user([{ type: 'image', source: { type: 'data', value: '*', mimeType: 'image/png' } }])] },
    400,
    /messages\[0\]\.content\[0\]/,
  ],
  [
    { messages: [user('Hi')], tools: [{ name: 'bash', description: '' }] },
    400,
    /tools\[0\]\.name bash is the name of a built-in tool/,
  ],
  [{ messages: [user('Hi')], tools: [readFile, readFile] }, 400, /tools\[1\]\.name read_file is already used/],
  [
    { messages: [user('Hi')], tools: [{ ...readFile, parameters: { type: 'list' } }] },
    400,
    /tools\[0\]\.parameters must be a JSON Schema/,
  ],
  [{ messages: [user('Hi')], tools: [{ ...readFile, parameters: { properties: 7 } }] }, 400, /tools\[0\]\.parameters /],
  [
    { messages: [user('Hi')], tools: [{ ...readFile, name: 'update_shared_state' }] },
    400,
    /name of the tool for the shared state/,
  ],
  [{ messages: [user('Hi')], state: { long: 'x'.repeat(100_000) } }, 400, /state must have at most 100000 characters/],
]

test('an input that starts no run is rejected with the field, before the stream', async () => {
  for (const [input, status, problem] of wrongInputs) {
    const [answered, text] = await rejected(input)
    assert.deepEqual([answered, problem.test(text)], [status, true], `${problem}: ${text}`)
  }
})

test('the front-end of docs/ag-ui.md runs unchanged', {
  skip: lack('jq') || lack('curl') || notBehindProxy('the page names the address of the service'),
}, async () => {
  const page = 'docs/ag-ui.md'
  const [start, program, ...others] = blocksOf(page, readFileSync(join(import.meta.dirname, '../..', page), 'utf8'))
  assert.ok(start?.language === 'sh' && program?.language === 'js' && others.length === 0)
  const shell = await clientShell()
  await writeFile(join(shell.work, 'front-end.mjs'), program.code)
  const env = { SWITCHYARD_URL: service.url, SWITCHYARD_KEY: service.key }
  const { code, stdout, stderr } = await shell.run(`${start.code}\nnode front-end.mjs`, env)
  assert.equal(code, 0, `${stdout}\n${stderr}`)
  assert.match(stdout, /basic 10 EUR, plus 25 EUR/)
  assert.match(stdout, /Allow bash \{.*\}\?/)
})
