import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { FilePart } from '../../src/contract/prompt-files.ts'
import type { Prompt } from '../../src/contract/prompts.ts'
import type { AgentRuntime } from '../../src/contract/runtimes.ts'
import type { OpencodeMessage, Session } from '../../src/contract/sessions.ts'
import type { WebhookAcceptance } from '../../src/contract/webhooks.ts'
import { doing, fakeProgram } from '../support/acp/acp-rig.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { bash, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
after(() => upstream.stop())
const modelOf = (name: string, capabilities: object) => ({
  model_name: name,
  params: { model: `anthropic/${name}`, api_base: upstream.url, api_key: 'sk-upstream', capabilities },
})
const service = await startService({
  config: JSON.stringify({
    model_list: [modelOf('scripted', { vision: true, pdf_input: true }), modelOf('blind', {})],
    outbound: { allow: [`127.0.0.1:${upstream.port}`] },
    runtime_harnesses: [{ alias: 'fake', api_spec: 'acp', command: ['node', fakeProgram], sandbox: 'none' }],
  }),
})

async function ok<T>(line: string, body?: unknown): Promise<T> {
  const answer = await send(service, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.text === '' ? (undefined as T) : answer.json<T>()
}

const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(40, 1)])
const pdf = Buffer.from('%PDF-1.7\n% a document\n')
const csv = Buffer.from('name,städte\nÅsa,Malmö\n')
const base64 = (bytes: Buffer) => bytes.toString('base64')
const filePart = (bytes: Buffer, media_type: string, name: string) => ({
  type: 'file',
  data: base64(bytes),
  media_type,
  name,
})
const three = [
  filePart(png, 'image/png', 'a picture.png'),
  filePart(pdf, 'application/pdf', '../../etc/Bericht 2026.pdf'),
  filePart(csv, 'text/csv; charset=utf-8', 'städte.csv'),
]

const newSession = async (body: object = {}) => (await ok<Session>('POST /session', body)).id
const logOf = async (id: string) =>
  (await ok<{ data: SessionEvent[] }>(`GET /v1/sessions/${id}/events?limit=1000`)).data
const filesOfPrompt = async (id: string): Promise<FilePart[]> =>
  (await ok<{ data: Prompt[] }>(`GET /session/${id}/prompts`)).data
    .flatMap(({ parts }) => parts)
    .filter(part => part.type === 'file')
const ask = (id: string, text: string, parts: readonly object[] = [], model = 'scripted') =>
  ok<OpencodeMessage>(`POST /session/${id}/message`, {
    model: { modelID: model },
    parts: [...parts, { type: 'text', text }],
  })

interface Block {
  readonly type: string
  readonly text?: string
  readonly source?: { readonly media_type: string; readonly data: string }
}

/** The blocks of all user messages in the last request to the model. */
function lastBlocks(): Block[] {
  const { messages } = (upstream.requests.at(-1) ?? assert.fail('no request')).body as {
    messages: { role: string; content: Block[] }[]
  }
  return messages.filter(({ role }) => role === 'user').flatMap(({ content }) => content)
}

const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

test('files of a prompt reach the model that reads them, and the workspace', async () => {
  const id = await newSession()
  await ask(id, saying(bash('cat uploads/*/*.csv; ls -a uploads/*'), { text: 'Done.' }), three)
  const blocks = lastBlocks()
  const media = blocks.filter(({ type }) => type === 'image' || type === 'document')
  assert.deepEqual(
    media.map(({ type, source }) => [type, source?.media_type, source?.data]),
    [
      ['image', 'image/png', base64(png)],
      ['document', 'application/pdf', base64(pdf)],
    ],
  )
  const [picture, report, table] = await filesOfPrompt(id)
  assert.deepEqual(
    [picture, report, table].map(part => [part?.name, part?.media_type, part?.size, part?.sha256]),
    [
      ['a picture.png', 'image/png', png.length, sha(png)],
      ['Bericht 2026.pdf', 'application/pdf', pdf.length, sha(pdf)],
      ['städte.csv', 'text/csv', csv.length, sha(csv)],
    ],
  )
  const notes = blocks.filter(({ text = '' }) => text.startsWith('[The user attached the file'))
  assert.equal(notes.length, 3)
  assert.ok(notes[2]?.text?.includes(`as ${table?.path}]`), notes[2]?.text)

  const log = await logOf(id)
  assert.deepEqual(log.find(({ type }) => type === 'user.message')?.content?.slice(0, 3), [picture, report, table])
  assert.ok(!JSON.stringify(log).includes(base64(png)), 'the log has no content of files')
  const result = JSON.stringify(log.find(({ type }) => type === 'agent.tool_result'))
  assert.ok(result.includes('Malmö') && result.includes('Bericht 2026.pdf'), result)
  for (const [part, bytes] of [
    [picture, png],
    [table, csv],
  ] as const) {
    const read = await send(service, `GET /api/sessions/${id}/files/${encodeURIComponent(part?.path ?? '')}`)
    assert.equal(sha(Buffer.from(read.text)), sha(Buffer.from(bytes.toString())), read.text)
  }
  const [message] = await ok<OpencodeMessage[]>(`GET /session/${id}/message`)
  const shown = ((message?.parts ?? []) as { type: string; mime?: string; url?: string }[])[0]
  assert.deepEqual([shown?.type, shown?.mime], ['file', 'image/png'])
  assert.equal(shown?.url, `file:///workspace/${encodeURI(picture?.path ?? '')}`)

  await ask(id, saying({ text: 'Again.' }))
  assert.equal(lastBlocks().filter(({ type }) => type === 'image').length, 1, 'stays in the conversation')
  await ask(id, saying({ text: 'Dark.' }), [], 'blind')
  assert.deepEqual(
    lastBlocks().filter(({ type }) => type !== 'text' && type !== 'tool_result'),
    [],
  )
  assert.equal(lastBlocks().filter(({ text = '' }) => text.startsWith('[The user attached')).length, 3)
})

test('a file that the agent has changed stays changed when it is sent again', async () => {
  const id = await newSession()
  await ask(id, saying(bash('echo changed > uploads/*/*.csv'), { text: 'Done.' }), three.slice(2))
  await ask(id, saying(bash('cat uploads/*/*.csv'), { text: 'Done.' }), three.slice(2))
  const results = (await logOf(id)).filter(({ type }) => type === 'agent.tool_result')
  assert.deepEqual(results.at(-1)?.content, [{ type: 'text', text: 'changed' }])
})

test('opencode’s file parts and the content blocks of the Managed Agents API are the same files', async () => {
  const id = await newSession()
  const url = `data:image/png;base64,${base64(png)}`
  await ask(id, saying({ text: 'Seen.' }), [{ type: 'file', mime: 'image/png', filename: 'p.png', url }])
  assert.equal(lastBlocks().find(({ type }) => type === 'image')?.source?.data, base64(png))

  const agent = await ok<{ id: string }>('POST /v1/agents', { name: 'Ada', model: 'scripted' })
  const environment = await ok<{ id: string }>('POST /v1/environments', { name: 'Here', config: { type: 'cloud' } })
  const content = [
    { type: 'text', text: saying({ text: 'Hello.' }) },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64(png) } },
    { type: 'document', title: 'Notes.md', source: { type: 'text', media_type: 'text/markdown', data: '# Größe' } },
  ]
  const session = await ok<{ id: string }>('POST /v1/sessions', {
    agent: agent.id,
    environment_id: environment.id,
    initial_events: [{ type: 'user.message', content }],
  })
  await eventually(async () => (await logOf(session.id)).some(({ type }) => type === 'session.status_idle'))
  assert.equal(lastBlocks().find(({ type }) => type === 'image')?.source?.data, base64(png))
  const sent = await ok<{ data: SessionEvent[] }>(`POST /v1/sessions/${session.id}/events`, {
    events: [{ type: 'user.message', content: [...content, filePart(pdf, 'application/pdf', 'x.pdf')] }],
  })
  assert.deepEqual(
    sent.data[0]?.content?.map(block => [block.type, 'name' in block ? block.name : undefined]),
    [
      ['text', undefined],
      ['file', 'file.png'],
      ['file', 'Notes.md'],
      ['file', 'x.pdf'],
    ],
  )
  await eventually(
    async () => (await logOf(session.id)).filter(({ type }) => type === 'session.status_idle').length > 1,
  )
  const { text } = await send(
    service,
    `GET /api/sessions/${session.id}/files/${(await filesOfPrompt(session.id))[1]?.path}`,
  )
  assert.equal(text, '# Größe')
})

test('a fork has the files, also after the first session is deleted', async () => {
  const id = await newSession()
  await ask(id, saying({ text: 'Seen.' }), three)
  const { id: forked } = await ok<Session>(`POST /session/${id}/fork`, {})
  await ok(`DELETE /session/${id}`)
  await ask(forked, saying(bash('cat uploads/*/*.csv'), { text: 'Again.' }))
  assert.equal(lastBlocks().find(({ type }) => type === 'document')?.source?.data, base64(pdf))
  assert.ok(JSON.stringify(await logOf(forked)).includes('Malmö'))
})

test('a local program finds the files in its folder; a runtime without files is an error', async () => {
  const id = await newSession({ runtime: 'fake' })
  await ask(id, doing({ say: 'read' }), three.slice(2))
  const [table] = await filesOfPrompt(id)
  assert.equal(
    (await send(service, `GET /api/sessions/${id}/files/${encodeURIComponent(table?.path ?? '')}`)).text,
    csv.toString(),
  )

  const { runtimes } = await ok<{ runtimes: AgentRuntime[] }>('GET /api/agent-runtimes')
  const flags = Object.fromEntries(runtimes.map(runtime => [runtime.id, runtime.capabilities['files_in']]))
  assert.deepEqual([flags['builtin'], flags['cursor'], flags['claude_managed_agents']], [true, false, false])
  await ok('PUT /api/agent-runtimes/cursor/credentials', { api_key: 'key', api_base: upstream.url })
  const cursor = await newSession({ runtime: 'cursor' })
  const refused = await send(service, `POST /session/${cursor}/prompt_async`, {
    body: { model: { modelID: 'x' }, parts: three.slice(0, 1) },
  })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /parts\[0\]\.data: runtime cursor takes no files \(files_in is false\); send text only/)
})

test('files in the payload of a webhook', async () => {
  const agent = await ok<Agent>('POST /api/agents', {
    name: 'Mail',
    owner_id: 'mail',
    model: 'scripted',
    config: { webhook: { files: { each: 'mail.attachments', data: 'content', name: 'filename', media_type: 'type' } } },
  })
  await ok('POST /api/vault', { key: `WEBHOOK_${agent.id}_SECRET`, value: 'a-long-webhook-secret' })
  const deliver = (attachments: unknown) =>
    send({ url: service.url }, `POST /api/agents/${agent.id}/webhook`, {
      headers: { authorization: 'Bearer a-long-webhook-secret' },
      body: { mail: { subject: 'Hello', attachments } },
    })
  const attachment = { filename: 'städte.csv', type: 'text/csv', content: base64(csv) }
  const answer = await deliver([attachment, { filename: 'none' }])
  assert.equal(answer.status, 202, answer.text)
  const { session_id } = answer.json<WebhookAcceptance>()
  const [prompt] = (await ok<{ data: Prompt[] }>(`GET /session/${session_id}/prompts`)).data
  const [text, file] = prompt?.parts ?? []
  assert.ok(text?.type === 'text' && text.text.includes('"content": "[attached file]"'), JSON.stringify(text))
  assert.deepEqual(file?.type === 'file' && [file.name, file.size], ['städte.csv', csv.length])
  await eventually(async () => (await logOf(session_id)).some(({ type }) => type === 'session.status_idle'))
  const broken = await deliver([{ ...attachment, content: '%%%%' }])
  assert.equal(broken.status, 400)
  assert.match(broken.text, /payload\.mail\.attachments\[0\]\.content is not base64/)
  assert.match((await deliver('none')).text, /payload\.mail\.attachments is not a list/)
  assert.equal((await deliver(null)).status, 202)
})

test('bad files are 400 or 413 with the field and the reason', async () => {
  const id = await newSession()
  const cases: [object | object[], number, RegExp][] = [
    [{ type: 'file', file_id: 'file_1' }, 400, /parts\[0\]\.file_id: file file_1 not found/],
    [{ type: 'file' }, 400, /parts\[0\]\.data is required/],
    [{ type: 'file', data: '', media_type: 'text/plain' }, 400, /parts\[0\]\.data is empty/],
    [{ type: 'file', data: 'abc', media_type: 'text/plain' }, 400, /parts\[0\]\.data is not base64/],
    [{ type: 'file', data: 'YWJj', name: 'x' }, 400, /parts\[0\]\.data: media_type is required/],
    [{ type: 'file', data: 'YWJj', media_type: 'nonsense' }, 400, /media_type is not a media type/],
    [filePart(pdf, 'image/png', 'x.png'), 400, /media_type is image\/png, but the content is application\/pdf/],
    [filePart(csv, 'application/pdf', 'x.pdf'), 400, /media_type is application\/pdf, but the content is not/],
    [filePart(Buffer.from([0xff, 0xfe]), 'text/plain', 'x.txt'), 400, /is not UTF-8; use application\/octet-stream/],
    [{ type: 'file', mime: 'text/plain', url: 'file:///etc/passwd' }, 400, /parts\[0\]\.url must be a data: URL/],
    [{ type: 'audio', data: 'YWJj' }, 400, /parts\[0\]\.type/],
    [Array.from({ length: 21 }, () => filePart(csv, 'text/csv', 'x')), 400, /at most 20 files/],
    [
      filePart(Buffer.alloc(10 * 1024 * 1024 + 1), 'application/zip', 'x'),
      413,
      /parts\[0\]\.data exceeds 10485760 bytes/,
    ],
  ]
  for (const [parts, status, message] of cases) {
    const body = { model: { modelID: 'scripted' }, parts: [parts].flat() }
    const answer = await send(service, `POST /session/${id}/prompt_async`, { body })
    assert.equal(answer.status, status, answer.text)
    assert.match(answer.text, message)
  }
  assert.deepEqual((await ok<{ data: Prompt[] }>(`GET /session/${id}/prompts`)).data, [])
  const media = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
  const answer = await send(service, `POST /v1/sessions/${id}/events`, {
    body: { events: [{ type: 'user.message', content: [media] }] },
  })
  assert.equal(answer.status, 400)
  assert.match(answer.text, /events\[0\]\.content\[0\]\.source\.type \\"url\\" is not supported/)
})
