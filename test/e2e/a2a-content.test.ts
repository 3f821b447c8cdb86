import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import {
  a2aClient,
  applied,
  type Binding,
  type Frame,
  messageOf,
  resultOf,
  stateNames,
  type Task,
} from '../support/a2a/a2a-client.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { bash, configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
const { url: databaseUrl } = await freshDatabase()
const service = await startService({ databaseUrl, config: configFor(upstream) })
after(async () => {
  await service.stop()
  await upstream.stop()
})
const nameOf = await stateNames()
const stateOf = ({ status }: Pick<Task, 'status'>) => nameOf(status?.state)
const bindings: readonly Binding[] = ['JSONRPC', 'HTTP+JSON']

async function newAgent(more: object = {}): Promise<string> {
  const body = { name: 'Scribe', owner_id: 'ada', model: 'scripted', config: { a2a: { enabled: true } }, ...more }
  return (await send(service, 'POST /api/agents', { body })).json<Agent>().id
}
const agent = await newAgent()
const lookup = (name: string) => ({ type: 'custom', name, description: 'Looks up', input_schema: { type: 'object' } })
const helper = await newAgent({ tools: [lookup('price'), lookup('stock')] })
const calling = (...names: string[]) =>
  saying({ tool_calls: names.map(name => ({ name, input: { id: 7 } })) }, { text: 'Told.' })
const part = (content: object, more: object = {}) => ({
  content,
  metadata: undefined,
  filename: '',
  mediaType: '',
  ...more,
})
const data = (value: object) => part({ $case: 'data', value })

interface Seen {
  /** Artifacts of the task at the end. */
  artifacts: Task['artifacts']
  /** Number of updates that did not complete an artifact. */
  pieces: number
  /** Text that the first update had. */
  first: string | undefined
}

/** Follows a stream to its end, and applies its updates by the rules of A2A. */
async function follow(frames: AsyncIterable<Frame>, onPiece: () => void = () => undefined): Promise<Seen> {
  const seen: Seen = { artifacts: [], pieces: 0, first: undefined }
  for await (const { payload } of frames) {
    if (payload?.$case === 'task') seen.artifacts = payload.value.artifacts
    if (payload?.$case !== 'artifactUpdate') continue
    seen.first ??= String(payload.value.artifact.parts[0]?.content?.value)
    seen.artifacts = applied(seen.artifacts, payload.value)
    if (payload.value.lastChunk) continue
    seen.pieces++
    onPiece()
  }
  return seen
}
const idsOf = (artifacts: Task['artifacts']) => artifacts.map(({ artifactId }) => artifactId)

for (const binding of bindings) {
  const client = await a2aClient(service, agent, binding)
  const helped = await a2aClient(service, helper, binding)

  test(`${binding}: a stream has the text while it is generated, in pieces of one artifact`, async () => {
    const text = 'A sentence that is long enough to come in several pieces of the model.'
    const stream = client.sendMessageStream(messageOf(saying({ text, chunkDelayMs: 100 })))
    const { artifacts, pieces } = await follow(stream)
    assert.ok(pieces > 0, 'pieces before the whole')
    assert.equal(resultOf({ artifacts }), text)
    const [newest] = (await client.listTasks({ status: 0, pageSize: 1, tenant: '', includeArtifacts: true })).tasks
    assert.deepEqual([idsOf(artifacts), resultOf({ artifacts })], [idsOf(newest?.artifacts ?? []), text])
  })

  test(`${binding}: a custom tool call is a question, and a message is its result`, async () => {
    const asked = await helped.sendMessage(messageOf(calling('price')))
    assert.equal(stateOf(asked), 'INPUT_REQUIRED')
    assert.match(JSON.stringify(asked.status?.message?.parts), /custom_tool_calls.*call_id.*price/)
    const [listed] = (await helped.listTasks({ status: 6, tenant: '' })).tasks
    assert.equal(listed?.id, asked.id)
    const done = await helped.sendMessage(messageOf('12 EUR', { taskId: asked.id }))
    assert.deepEqual([stateOf(done), resultOf(done)], ['COMPLETED', 'Told.'])
    const log = await send(service, `GET /v1/sessions/${done.contextId}/events?types=user.custom_tool_result`)
    assert.match(log.text, /12 EUR/)

    const two = await helped.sendMessage(messageOf(calling('price', 'stock')))
    const calls = JSON.stringify(two.status?.message?.parts)
    const [one = '', other = ''] = calls.match(/evt_\w+/g) ?? []
    await assert.rejects(helped.sendMessage(messageOf('x', { taskId: two.id })), /must be data/)
    const first = data({ call_id: one, result: { eur: 12 } })
    const half = await helped.sendMessage(messageOf('', { taskId: two.id, parts: [first] }))
    assert.equal(stateOf(half), 'INPUT_REQUIRED')
    assert.deepEqual(JSON.stringify(half.status?.message?.parts).match(/evt_\w+/g), [other])
    const last = data({ result: 'none', is_error: true })
    const over = await helped.sendMessage(messageOf('', { taskId: two.id, parts: [last] }))
    assert.deepEqual([stateOf(over), over.history.length], ['COMPLETED', 4])
  })

  test(`${binding}: files of a message are files of the prompt, and files that the agent writes are artifacts`, async () => {
    const bytes = Buffer.from('id,total\n7,12\n')
    const file = part({ $case: 'raw', value: bytes }, { filename: 'totals.csv', mediaType: 'text/csv' })
    const script = saying(bash('cat uploads/*/totals.csv > copy.csv; mkdir -p out; echo done > out/log.txt'), {
      text: 'Copied.',
    })
    const message = messageOf('', { parts: [file, ...messageOf(script).message.parts] })
    const task = await client.sendMessage(message)
    assert.equal(stateOf(task), 'COMPLETED')
    const files = task.artifacts.filter(({ artifactId }) => artifactId.startsWith('file:'))
    assert.deepEqual(idsOf(files), ['file:copy.csv', 'file:out/log.txt'])
    const { value } = files[0]?.parts[0]?.content ?? assert.fail('no content')
    const read = await send(service, `GET ${String(value).slice(service.url.length)}`)
    assert.equal(read.text, bytes.toString())
    assert.equal((await client.sendMessage(message)).id, task.id, 'a repeated message gets the same task')
    const again = await client.sendMessage(messageOf(saying({ text: 'Nothing.' }), { contextId: task.contextId }))
    assert.deepEqual(again.artifacts.length, 1, 'files of earlier tasks are not repeated')

    const { artifacts } = await follow(
      client.sendMessageStream(messageOf(saying(bash('echo x > new.txt'), { text: 'New.' }))),
    )
    assert.ok(idsOf(artifacts).includes('file:new.txt'), 'before the stream ends')
    const remote = part({ $case: 'url', value: 'https://example.com/a.png' }, { mediaType: 'image/png' })
    await assert.rejects(
      client.sendMessage(messageOf('', { parts: [remote] })),
      /parts\[0\]\.url is not supported.*in raw/,
    )
  })
}

test('a client that joins while an answer is generated gets its whole text, each part once', async () => {
  const client = await a2aClient(service, agent, 'JSONRPC')
  const text = 'Another sentence of several pieces, which takes a while to be written by the model.'
  const task = await client.sendMessage(messageOf(saying({ text, chunkDelayMs: 300 }), {}, { returnImmediately: true }))
  let hasBegun = false
  const early = follow(client.resubscribeTask({ id: task.id }), () => {
    hasBegun = true
  })
  await eventually(() => hasBegun)
  const late = await follow(client.resubscribeTask({ id: task.id }))
  assert.ok(late.first && text.startsWith(late.first), 'the text so far comes first')
  for (const seen of [late, await early]) assert.equal(resultOf(seen), text)
})
