import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import Anthropic, { NotFoundError } from '@anthropic-ai/sdk'
import OpenAI, { toFile } from 'openai'
import { Client } from 'pg'
import type { Prompt } from '../../src/contract/prompts.ts'
import { runLine } from '../support/service/command-line.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, sendOk } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { startFileUpstream } from '../support/upstream/file-upstream.ts'

const upstream = await startFileUpstream()
after(() => upstream.close())
const params = { api_key: 'sk-upstream' }
const maxBytes = 3_000_000
const service = await startService({
  config: JSON.stringify({
    model_list: [
      { model_name: 'claude', params: { ...params, model: 'anthropic/claude-sonnet-5', api_base: upstream.url } },
      { model_name: 'gpt', params: { ...params, model: 'openai/gpt-5.2', api_base: `${upstream.url}/v1` } },
      {
        model_name: 'other',
        params: { ...params, model: 'custom/m', protocol: 'anthropic-messages', api_base: upstream.url },
      },
    ],
    outbound: { allow: [upstream.host] },
    limits: { files_bytes: maxBytes },
  }),
})
const openai = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: service.key, maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: service.url, apiKey: service.key, maxRetries: 0 })

const pdf = Buffer.from('%PDF-1.7\n% a document\n')
const base64 = pdf.toString('base64')
const csv = 'name,city\nÅsa,Malmö\n'
const lastAsked = () => upstream.asked.at(-1) ?? assert.fail('nothing was asked')

async function rowsOf(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: service.databaseUrl })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

interface Field {
  readonly name: string
  readonly content: string | Buffer
  readonly filename?: string
}

const boundary = 'x1y2'
function formOf(fields: readonly Field[]): Buffer {
  const parts = fields.flatMap(({ name, content, filename }) => [
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${filename ? `; filename="${filename}"` : ''}\r\n\r\n`,
    ),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)])
}

const purpose = { name: 'purpose', content: 'user_data' }
const fileField = (content: string | Buffer, filename = 'a.txt') => ({ name: 'file', content, filename })
const upload = (body: Buffer, headers: Record<string, string> = {}) =>
  send(service, 'POST /v1/files', {
    body,
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}`, ...headers },
  })
const uploaded = async (content: string | Buffer, filename?: string): Promise<string> =>
  (await upload(formOf([fileField(content, filename), purpose]))).json<{ id: string }>().id

test('openai: a file is uploaded, listed, retrieved, read, used on a model of Anthropic’s format, and deleted', async () => {
  const file = await openai.files.create({
    file: await toFile(pdf, 'Bericht 2026.pdf', { type: 'application/pdf' }),
    purpose: 'user_data',
    expires_after: { anchor: 'created_at', seconds: 3_600 },
  })
  assert.match(file.id, /^file_[0-9a-f]{32}$/)
  assert.deepEqual(
    [file.object, file.bytes, file.filename, file.purpose, file.status, (file.expires_at ?? 0) - file.created_at],
    ['file', pdf.length, 'Bericht 2026.pdf', 'user_data', 'processed', 3_600],
  )
  const listed: string[] = []
  for await (const { id } of openai.files.list({ limit: 1, purpose: 'user_data' })) listed.push(id)
  assert.ok(listed.includes(file.id))
  assert.deepEqual(await openai.files.retrieve(file.id), file)
  const content = await openai.files.content(file.id)
  assert.ok(Buffer.from(await content.arrayBuffer()).equals(pdf))
  assert.deepEqual(
    [content.headers.get('content-disposition'), content.headers.get('x-content-type-options')],
    ["attachment; filename*=UTF-8''Bericht%202026.pdf", 'nosniff'],
  )
  const answer = await openai.chat.completions.create({
    model: 'claude',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'file', file: { file_id: file.id } },
          { type: 'text', text: 'Read' },
        ],
      },
    ],
  })
  assert.equal(answer.choices[0]?.message.content, 'Read.')
  const { url, text } = lastAsked()
  assert.ok(url === '/v1/messages' && text.includes(base64) && !text.includes(file.id), text)
  const response = await openai.responses.create({
    model: 'claude',
    input: [{ role: 'user', content: [{ type: 'input_file', file_id: file.id }] }],
  })
  assert.equal(response.output_text, 'Read.')
  assert.deepEqual(await openai.files.delete(file.id), { id: file.id, object: 'file', deleted: true })
  await assert.rejects(openai.files.retrieve(file.id), OpenAI.NotFoundError)
})

test('@anthropic-ai/sdk: the same, used on a model of OpenAI’s format', async () => {
  const { files } = anthropic.beta
  const first = await files.upload({
    file: await toFile(Buffer.from(csv), 'städte.csv', { type: 'text/csv' }),
    expires_in_seconds: 7_776_000,
  })
  assert.equal(Date.parse(first.expires_at ?? '') - Date.parse(first.created_at), 7_776_000_000)
  const file = await files.upload({ file: await toFile(pdf, 'a.pdf', { type: 'application/octet-stream' }) })
  assert.deepEqual(
    [file.type, file.filename, file.mime_type, file.size_bytes, file.downloadable],
    ['file', 'a.pdf', 'application/pdf', pdf.length, true],
  )
  const listed: string[] = []
  for await (const { id } of files.list({ limit: 1 })) listed.push(id)
  assert.deepEqual(listed.slice(0, 2), [file.id, first.id])
  const some: string[] = []
  for await (const { id } of files.list({ ids: [first.id, 'file_none'] })) some.push(id)
  assert.deepEqual(some, [first.id])
  const header = { headers: { 'anthropic-beta': 'files-api-2025-04-14' } }
  type Page = { data: { id: string }[]; has_more: boolean }
  const before = await sendOk<Page>(service, `GET /v1/files?before_id=${first.id}&limit=1`, header)
  assert.deepEqual([before.data[0]?.id, before.has_more], [file.id, false])
  assert.deepEqual(await files.retrieveMetadata(file.id), file)
  assert.equal(await (await files.download(first.id)).text(), csv)
  const answer = await anthropic.beta.messages.create({
    model: 'gpt',
    max_tokens: 10,
    betas: ['files-api-2025-04-14'],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'document', source: { type: 'file', file_id: file.id } },
          { type: 'document', source: { type: 'file', file_id: first.id } },
        ],
      },
    ],
  })
  assert.deepEqual(answer.content, [{ type: 'text', text: 'Read.' }])
  const { text } = lastAsked()
  assert.ok(text.includes(base64) && text.includes('Malm'), text)
  for (const { id } of [file, first]) assert.deepEqual(await files.delete(id), { id, type: 'file_deleted' })
  await assert.rejects(files.retrieveMetadata(file.id), NotFoundError)
})

const document = (id: string) => ({ type: 'document', source: { type: 'file', file_id: id } })
const asking = (model: string, ...content: readonly object[]) => ({
  model,
  max_tokens: 10,
  messages: [{ role: 'user', content }],
})
const ask = (body: object, target: { url: string; key?: string } = service) =>
  send(target, 'POST /v1/messages', { body })

test('a provider that stores files gets a file once, and again when it has lost it', async () => {
  const id = await uploaded(pdf, 'a.pdf')
  const before = upstream.uploads.length
  const zip = await uploaded(Buffer.from('PK\u0003\u0004'), 'a.zip')
  const body = asking('claude', document(id), { type: 'container_upload', file_id: zip })
  for (let count = 0; count < 2; count++) assert.equal((await ask(body)).status, 200)
  assert.equal(upstream.uploads.length, before + 2)
  assert.ok(upstream.uploads.some(form => form.includes('filename="a.pdf"') && form.includes('% a document')))
  const { text, beta } = lastAsked()
  assert.match(text, /"source":\{"type":"file","file_id":"theirs_\d+"\}/)
  assert.equal(beta, 'files-api-2025-04-14')
  upstream.forget()
  assert.equal((await ask(body)).status, 200)
  assert.equal(upstream.uploads.length, before + 4)

  const chat = { model: 'gpt', messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: id } }] }] }
  assert.equal((await send(service, 'POST /v1/chat/completions', { body: chat })).status, 200)
  assert.match(lastAsked().text, /"file":\{"file_id":"theirs_\d+"\}/)
  assert.ok(upstream.uploads.at(-1)?.includes('name="purpose"\r\n\r\nuser_data'))
  const tools = [{ type: 'code_interpreter', container: { type: 'auto', file_ids: [id] } }]
  const response = { model: 'gpt', tools, input: [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }] }
  assert.equal((await send(service, 'POST /v1/responses', { body: response })).status, 200)
  assert.match(lastAsked().text, /"file_ids":\["theirs_\d+"\]/)
  assert.equal(upstream.uploads.length, before + 5)

  assert.equal((await ask(asking('other', document(id)))).status, 200)
  assert.ok(lastAsked().text.includes(base64), 'another provider gets the content')
  const rejected = await ask(asking('other', { type: 'container_upload', file_id: zip }))
  assert.equal(rejected.status, 400)
  assert.match(rejected.text, /container_upload needs a provider that stores files/)
})

test('a request without files of ours reaches the provider byte for byte', async () => {
  const body = Buffer.from(
    ` {"model":"claude-sonnet-5", "max_tokens":1.0e1,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"file_011CNha8iCJcU1wXNR6q4V8w"}},{"type":"text","text":"file_0${'1'.repeat(31)}"}]}]}`,
  )
  const renamed = {
    model_name: 'claude-sonnet-5',
    params: { ...params, model: 'anthropic/claude-sonnet-5', api_base: upstream.url },
  }
  await sendOk(service, 'POST /api/models', { body: renamed })
  assert.equal((await send(service, 'POST /v1/messages', { body })).status, 200)
  assert.equal(lastAsked().text, body.toString('latin1'))
})

test('a file of another principal does not exist', async () => {
  const id = await uploaded(csv, 'a.csv')
  const { key } = await sendOk<{ key: string }>(service, 'POST /api/keys', { body: { label: 'Bo', owner_id: 'bo' } })
  const bo = { url: service.url, key }
  for (const line of [`GET /v1/files/${id}`, `GET /v1/files/${id}/content`, `DELETE /v1/files/${id}`]) {
    const answer = await send(bo, line)
    assert.equal(answer.status, 404, line)
    assert.deepEqual(answer.json<{ error: { message: string } }>().error.message, `file ${id} not found`)
  }
  const inAnthropics = await send(bo, `GET /v1/files/${id}`, { headers: { 'anthropic-version': '2023-06-01' } })
  assert.deepEqual(inAnthropics.json<{ type: string; error: object }>(), {
    type: 'error',
    error: { type: 'not_found_error', message: `file ${id} not found` },
    request_id: inAnthropics.headers['request-id'],
  })
  const answer = await ask(asking('claude', document(id)), bo)
  assert.equal(answer.status, 404)
  assert.match(answer.text, new RegExp(`messages.0.content.0.source.file_id: file ${id} not found`))
  assert.deepEqual((await sendOk<{ data: unknown[] }>(bo, 'GET /v1/files')).data, [])
  assert.equal((await ask(asking('claude', document(id)))).status, 200)
})

test('a prompt names an uploaded file, and the session has a copy', async () => {
  const id = await uploaded(csv, 'städte.csv')
  const session = await sendOk<{ id: string }>(service, 'POST /session', { body: {} })
  const parts = [
    { type: 'file', file_id: id, name: 'cities.csv' },
    { type: 'text', text: 'Read it' },
  ]
  const answer = await send(service, `POST /session/${session.id}/prompt_async`, {
    body: { model: { modelID: 'demo' }, parts },
  })
  assert.equal(answer.status, 204, answer.text)
  await sendOk(service, `DELETE /v1/files/${id}`)
  const { data } = await sendOk<{ data: Prompt[] }>(service, `GET /session/${session.id}/prompts`)
  const [file] = data[0]?.parts ?? []
  assert.deepEqual(file?.type === 'file' && [file.name, file.media_type, file.sha256], [
    'cities.csv',
    'text/csv',
    createHash('sha256').update(csv).digest('hex'),
  ])
  await eventually(async () => {
    const path = file?.type === 'file' ? encodeURIComponent(file.path) : ''
    return (await send(service, `GET /api/sessions/${session.id}/files/${path}`)).text === csv
  })
  for (const part of [
    { type: 'file', file_id: id },
    { type: 'file', file_id: 'x', data: 'YQ==' },
  ]) {
    const { status, text } = await send(service, `POST /session/${session.id}/prompt_async`, {
      body: { model: { modelID: 'demo' }, parts: [part] },
    })
    assert.equal(status, 400)
    assert.match(text, /parts\[0\]\.file_id(: file file_\w+ not found| and parts\[0\]\.data exclude each other)/)
  }
})

/** Bytes of stored content that no file has and no cleanup deletes. */
async function leftovers(): Promise<unknown> {
  const [row] = await rowsOf(`
    select count(*)::int as count from workspace_blobs b
    where owner_id like 'file\\_%' and loose_since is distinct from '-infinity' and not exists (
      select from files where id = b.owner_id)`)
  return row?.['count']
}

test('bad uploads are rejected with the reason, and nothing of them is left', async () => {
  const big = randomBytes(1_200_000)
  for (const [form, status, words] of [
    [[fileField(big)], 400, /purpose is required: assistants, batch/],
    [[fileField(big), { ...purpose, content: 'fun' }], 400, /purpose \\"fun\\" must be one of assistants, batch/],
    [[fileField(big), fileField(big), purpose], 400, /the form has two files; upload one file per request/],
    [[purpose], 400, /file is required/],
    [[{ name: 'file', content: 'text' }, purpose], 400, /form field file has no filename/],
    [[{ ...fileField('a'), name: 'document' }, purpose], 400, /form field \\"document\\" is a file; send the file as/],
    [[fileField(''), purpose], 400, /file is empty/],
    [[fileField(big), { ...purpose, content: 'x'.repeat(2_000_000) }], 400, /form field purpose exceeds 1000 bytes/],
    [
      [fileField(big), purpose, { name: 'expires_after[seconds]', content: '9' }],
      400,
      /expires_after\[anchor\] must be/,
    ],
    [
      [fileField(randomBytes(maxBytes + 1)), purpose],
      413,
      /files of master would exceed limits\.files_bytes \(3000000 bytes/,
    ],
  ] as const) {
    const answer = await upload(formOf(form))
    assert.deepEqual([answer.status, words.test(answer.text)], [status, true], answer.text)
  }
  const json = await send(service, 'POST /v1/files', { body: { file: 'x' } })
  assert.equal(json.status, 415)
  assert.match(await lyingUpload(600 * 1024 * 1024), /^HTTP\/1\.1 413 [\s\S]*file exceeds 536870912 bytes/)
  const unknown = await upload(formOf([fileField('a'), purpose, { name: 'colour', content: 'red' }]))
  assert.deepEqual([unknown.status, unknown.headers['x-switchyard-ignored']], [200, 'colour'])
  assert.equal(await leftovers(), 0)
})

test('an upload that is repeated with its Idempotency-Key makes one file', async () => {
  const headers = { 'idempotency-key': 'upload once' }
  const form = formOf([fileField('once', 'once.txt'), purpose])
  const [first, second] = await Promise.all([upload(form, headers), upload(form, headers)])
  const id = first.json<{ id: string }>().id
  assert.deepEqual([first.status, second.status, second.json<object>()], [200, 200, first.json<object>()])
  const inAnthropics = await upload(form, { ...headers, 'anthropic-version': '2023-06-01' })
  assert.deepEqual([inAnthropics.status, inAnthropics.json<{ id: string }>().id], [200, id])
  const other = await upload(formOf([fileField('twice', 'once.txt'), purpose]), headers)
  assert.deepEqual([other.status, /Idempotency-Key was already used/.test(other.text)], [422, true], other.text)
  assert.equal((await upload(form, { 'idempotency-key': 'x'.repeat(256) })).status, 400)
  assert.equal((await rowsOf(`select from files where filename = 'once.txt'`)).length, 1)
  assert.equal(await leftovers(), 0)
})

const cutBytes = 500

/** Sends an upload whose content-length differs from its body by `more`; `cutBytes` ends the connection. */
async function lyingUpload(more: number): Promise<string> {
  const body = formOf([fileField(randomBytes(1_200_000)), purpose])
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  const head = [
    'POST /v1/files HTTP/1.1',
    'host: localhost',
    `authorization: Bearer ${service.key}`,
    `content-type: multipart/form-data; boundary=${boundary}`,
    `content-length: ${body.length + more}`,
  ]
  socket.on('error', () => undefined)
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  socket.write(body)
  if (more === cutBytes) socket.end()
  let text = ''
  for await (const chunk of socket) {
    text += String(chunk)
    if (text.includes('}')) break
  }
  socket.destroy()
  return text
}

test('an upload with a wrong length, or whose connection is cut, leaves nothing', async () => {
  const before = await rowsOf('select id from files order by id')
  // The end of the form is then the start of a next request, which is malformed.
  assert.match(await lyingUpload(-20), /^HTTP\/1\.1 400 /)
  await lyingUpload(cutBytes)
  await eventually(async () => (await leftovers()) === 0)
  assert.deepEqual(await rowsOf('select id from files order by id'), before)
})

test('the command line uploads, lists, downloads and deletes a file', async () => {
  const folder = service.dataDir
  const source = join(import.meta.dirname, 'stored-files.test.ts')
  const run = async (...args: string[]) => {
    const env = { SWITCHYARD_URL: service.url, SWITCHYARD_KEY: service.key }
    const { code, stdout, stderr } = await runLine(args, { env, fetch })
    assert.equal(code, 0, stderr)
    return stdout
  }
  const id = (await run('files', 'upload', source)).trim()
  assert.match(await run('files', 'ls'), new RegExp(`${id}.*stored-files\\.test\\.ts`))
  assert.match(await run('files', 'show', id), /purpose +user_data/)
  const copy = join(folder, 'copy.ts')
  await run('files', 'download', id, copy)
  assert.ok(readFileSync(copy).equals(readFileSync(source)))
  await run('files', 'rm', id, '--yes')
  assert.ok(!(await run('files', 'ls')).includes(id))
})
