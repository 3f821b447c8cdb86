import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpencodeClient } from '@opencode-ai/sdk/v2'
import { send } from '../support/service/send.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service } = await startScriptedService()
const client = createOpencodeClient({
  baseUrl: service.url,
  headers: { authorization: `Bearer ${service.key}` },
  throwOnError: true,
})

/** A session whose agent has written some files. */
async function sessionWithFiles(): Promise<string> {
  const { id } = (await send(service, 'POST /session', { body: {} })).json<{ id: string }>()
  const write =
    'mkdir -p src && printf "one\\ntwo (x)\\n" > src/Main.ts && printf "\\0\\1" > logo.bin && echo hi > read.me'
  const body = { parts: [{ type: 'text', text: saying(bash(write), { text: 'Done.' }) }] }
  const answer = await send(service, `POST /session/${id}/message`, { body })
  assert.equal(answer.status, 200, answer.text)
  return id
}

test('the opencode client lists, reads and searches the files of a session', async () => {
  const workspace = await sessionWithFiles()
  const top = (await client.file.list({ workspace, path: '' })).data ?? []
  assert.deepEqual(
    top.map(({ name, type, absolute }) => [name, type, absolute]),
    [
      ['logo.bin', 'file', '/workspace/logo.bin'],
      ['read.me', 'file', '/workspace/read.me'],
      ['src', 'directory', '/workspace/src'],
    ],
  )
  const inner = (await client.file.list({ workspace, path: 'src' })).data ?? []
  assert.deepEqual(
    inner.map(({ path }) => path),
    ['src/Main.ts'],
  )
  const text = (await client.file.read({ workspace, path: 'src/Main.ts' })).data
  assert.deepEqual(text, { type: 'text', content: 'one\ntwo (x)\n' })
  const binary = (await client.file.read({ workspace, path: 'logo.bin' })).data
  assert.deepEqual(binary, { type: 'binary', content: 'AAE=', encoding: 'base64' })
  assert.deepEqual((await client.find.files({ workspace, query: 'main SRC' })).data, ['src/Main.ts'])
  assert.deepEqual((await client.find.files({ workspace, query: 'src', type: 'directory' })).data, ['src/'])
  const [match, more] = (await client.find.text({ workspace, pattern: 'two (x' })).data ?? []
  assert.deepEqual(
    [match?.path.text, match?.line_number, match?.absolute_offset, more],
    ['src/Main.ts', 2, 4, undefined],
  )
  const changed = (await client.file.status({ workspace })).data ?? []
  assert.deepEqual(
    changed.map(({ path, status, added }) => [path, status, added]),
    [
      ['logo.bin', 'added', 0],
      ['read.me', 'added', 1],
      ['src/Main.ts', 'added', 2],
    ],
  )
})

test('without a session there are no files; a path that is not there, and another’s session, are 404', async () => {
  assert.deepEqual((await client.file.list({ path: '.' })).data, [])
  assert.deepEqual((await client.find.text({ pattern: 'x' })).data, [])
  const workspace = await sessionWithFiles()
  const status = async (path: string) => (await send(service, `GET ${path}`)).status
  assert.equal(await status(`/file/content?workspace=${workspace}&path=none.txt`), 404)
  assert.equal(await status(`/file/content?workspace=${workspace}&path=src`), 400)
  assert.equal(await status(`/file/content?workspace=${workspace}&path=../../etc/passwd`), 400)
  assert.equal(await status('/file?workspace=ses_none&path='), 404)
})
