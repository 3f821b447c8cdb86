import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { FileChange, FilesAsOf, ListedCheckpoint, WorkspaceFile } from '../../src/contract/files.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { temporaryFolder } from '../support/service/data-folder.ts'
import { eventually } from '../support/service/eventually.ts'
import { open, send } from '../support/service/send.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service } = await startScriptedService()

const newSession = async (): Promise<string> => (await send(service, 'POST /session', { body: {} })).json<Session>().id
const filesOf = (id: string) => `/api/sessions/${id}/files`

async function logOf(id: string): Promise<SessionEvent[]> {
  return (await send(service, `GET /v1/sessions/${id}/events?limit=1000`)).json<{ data: SessionEvent[] }>().data
}

/** Lets the session's agent run commands; the events of their results. */
async function run(id: string, ...commands: readonly string[]): Promise<SessionEvent[]> {
  const before = (await logOf(id)).length
  const text = saying(...commands.map(bash), { text: 'Done.' })
  const body = { model: { modelID: 'scripted' }, parts: [{ type: 'text', text }] }
  assert.equal((await send(service, `POST /session/${id}/prompt_async`, { body })).status, 204)
  const log = await eventually(async () => {
    const now = (await logOf(id)).slice(before)
    return now.some(({ type }) => type === 'session.status_idle') && now
  })
  return log.filter(({ type }) => type === 'agent.tool_result')
}

const textOf = (event: SessionEvent | undefined): string =>
  ((event?.content ?? []) as { readonly text?: string }[]).map(({ text = '' }) => text).join('')

async function list(
  id: string,
  query = '',
): Promise<{ data: WorkspaceFile[]; as_of: FilesAsOf; next_cursor: string | null }> {
  const answer = await send(service, `GET ${filesOf(id)}${query}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.json()
}

test('files are listed and read as of any step, with their hashes', async () => {
  const id = await newSession()
  const [first, second] = await run(
    id,
    'mkdir src && echo one > src/one.txt && ln -s src/one.txt link && ln -s /etc/passwd out',
    'echo two > src/two.txt; echo changed > src/one.txt',
  )
  assert.deepEqual(
    (await list(id)).data.map(({ path, type }) => [path, type]),
    [
      ['link', 'link'],
      ['out', 'link'],
      ['src', 'folder'],
    ],
  )
  const now = await list(id, '?path=src')
  const [one] = now.data
  assert.deepEqual(
    now.data.map(({ path, size }) => [path, size]),
    [
      ['src/one.txt', 8],
      ['src/two.txt', 4],
    ],
  )
  assert.equal(one?.sha256, createHash('sha256').update('changed\n').digest('hex'))
  assert.equal(now.as_of?.seq, second?.seq)
  assert.deepEqual(
    (await list(id, `?path=src&at=${first?.id}`)).data.map(({ path }) => path),
    ['src/one.txt'],
  )
  assert.deepEqual(await list(id, '?at=start'), { data: [], as_of: null, next_cursor: null })
  const page = await list(id, '?limit=2')
  assert.equal(page.data.length, 2)
  assert.deepEqual(
    (await list(id, `?limit=2&cursor=${page.next_cursor}`)).data.map(({ path }) => path),
    ['src'],
  )

  const read = await send(service, `GET ${filesOf(id)}/src%2Fone.txt?at=${first?.id}`)
  assert.equal(read.text, 'one\n')
  assert.equal(read.headers['content-type'], 'application/octet-stream')
  assert.equal(read.headers['content-disposition'], 'attachment')
  assert.equal((await send(service, `GET ${filesOf(id)}/link`)).text, 'changed\n')
  assert.equal((await send(service, `GET ${filesOf(id)}/src/three.txt`)).status, 404)
  assert.match((await send(service, `GET ${filesOf(id)}/src`)).text, /is a folder/)
  assert.match((await send(service, `GET ${filesOf(id)}?at=evt_nothing`)).text, /event evt_nothing not found/)
})

test('artifacts are the files that runs have written, without those of callers and of prompts', async () => {
  const id = await newSession()
  const put = (path: string, body: string) =>
    send(service, `PUT ${filesOf(id)}/${path}`, { headers: { 'content-type': 'text/plain' }, body })
  for (const path of ['mine.txt', 'shared.txt']) assert.equal((await put(path, 'from a caller')).status, 200)
  const file = { type: 'file', data: 'Y29udGVudA==', media_type: 'text/plain', name: 'sent.txt' }
  const body = { model: { modelID: 'scripted' }, parts: [file, { type: 'text', text: saying({ text: 'Read.' }) }] }
  assert.equal((await send(service, `POST /session/${id}/message`, { body })).status, 200)
  const artifacts = async (query = '', of = id) => {
    const answer = await send(service, `GET /api/sessions/${of}/artifacts${query}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.json<{ data: WorkspaceFile[]; as_of: FilesAsOf; next_cursor: string | null }>()
  }
  const pathsOf = async (query = '', of = id) => (await artifacts(query, of)).data.map(({ path }) => path)
  assert.deepEqual(await pathsOf(), [])
  const [first, second] = await run(
    id,
    'mkdir -p out; echo 1 > out/one.txt; echo x >> shared.txt',
    'echo 2 > out/two.txt',
  )
  assert.deepEqual(await pathsOf(`?at=${first?.id}`), ['out/one.txt', 'shared.txt'])
  assert.deepEqual(await pathsOf(), ['out/one.txt', 'out/two.txt', 'shared.txt'])
  const { data, as_of, next_cursor } = await artifacts('?limit=1')
  assert.equal(data[0]?.sha256, createHash('sha256').update('1\n').digest('hex'))
  assert.equal(as_of?.seq, second?.seq)
  assert.deepEqual(await pathsOf(`?limit=1&cursor=${next_cursor}`), ['out/two.txt'])
  assert.equal((await put('out/one.txt', 'replaced')).status, 200)
  assert.deepEqual(await pathsOf(), ['out/two.txt', 'shared.txt'])
  const forked = (await send(service, `POST /session/${id}/fork`, { body: {} })).json<Session>().id
  assert.deepEqual(await pathsOf('', forked), [])
})

const outside = ['../x', '..%2Fx', '%2e%2e/%2e%2e/x', '%2Fetc%2Fpasswd', 'src/..%2F..%2F..%2Fetc/passwd', '~/x']

test('S34: no path and no link leads out of the workspace', async () => {
  const id = await newSession()
  await run(id, 'ln -s /etc/passwd out; ln -s ../.. up; ln -s /workspace/up twice; mkdir d; ln -s d/../../x sneaky')
  for (const path of [...outside, 'out', 'up/x', 'twice/x', 'sneaky']) {
    const answer = await send(service, `GET ${filesOf(id)}/${path}`)
    assert.ok([400, 404].includes(answer.status), `${path}: ${answer.status}`)
    assert.ok(!answer.text.includes('root:'), path)
  }
  assert.match((await send(service, `GET ${filesOf(id)}/out`)).text, /follows a link out of the workspace/)
  assert.match((await send(service, `GET ${filesOf(id)}?path=../..`)).text, /outside of the workspace/)
  for (const path of [...outside, 'up/x', 'out/x']) {
    assert.ok((await send(service, `PUT ${filesOf(id)}/${path}`, { body: 'x' })).status >= 400, path)
    assert.ok((await send(service, `DELETE ${filesOf(id)}/${path}`)).status >= 400, path)
  }
})

test('files that a caller writes and deletes are there in the next run, and the log reports them', async () => {
  const id = await newSession()
  const large = Buffer.alloc(3 * 1024 * 1024 + 17, 'switchyard')
  const headers = { 'content-type': 'image/png' }
  const put = await send(service, `PUT ${filesOf(id)}/in/deep/large.bin`, { body: large, headers })
  assert.equal(put.status, 200, put.text)
  assert.equal(put.json<WorkspaceFile>().sha256, createHash('sha256').update(large).digest('hex'))
  assert.equal((await send(service, `PUT ${filesOf(id)}/empty`)).status, 200)
  assert.equal((await send(service, `PUT ${filesOf(id)}/notes.json`, { body: { a: 1 } })).status, 200)
  const [seen] = await run(
    id,
    'sha256sum in/deep/large.bin; cat notes.json; touch own; chmod +x notes.json; mkdir node_modules; touch node_modules/x; ls',
  )
  assert.match(textOf(seen), new RegExp(`^${put.json<WorkspaceFile>().sha256}`))
  assert.match(textOf(seen), /\{"a":1\}empty\nin\nnode_modules\nnotes.json\nown/)
  await send(service, `PUT ${filesOf(id)}/notes.json`, { body: 'second' })
  assert.equal((await send(service, `DELETE ${filesOf(id)}/in`)).status, 204)
  assert.equal((await send(service, `DELETE ${filesOf(id)}/in`)).status, 404)
  const [again] = await run(id, 'ls node_modules; ls; cat notes.json; test -x notes.json && echo executable')
  assert.equal(textOf(again).trim(), 'x\nempty\nnode_modules\nnotes.json\nown\nsecondexecutable')
  const told = (await logOf(id)).filter(({ type }) => type === 'session.files_changed')
  assert.deepEqual(
    told.map(event => [event.path, event.change]),
    [
      ['in/deep/large.bin', 'written'],
      ['empty', 'written'],
      ['notes.json', 'written'],
      ['notes.json', 'written'],
      ['in', 'deleted'],
    ],
  )
})

test('what cannot be kept is rejected by name', async () => {
  const id = await newSession()
  await send(service, `PUT ${filesOf(id)}/file`, { body: 'x' })
  const cases = [
    ['node_modules/x', 'x', 400, /is ignored by the built-in rules/],
    ['file/below', 'x', 400, /file is not a folder/],
    ['', 'x', 400, /path is empty/],
  ] as const
  for (const [path, body, status, message] of cases) {
    const answer = await send(service, `PUT ${filesOf(id)}/${path}`, { body })
    assert.equal(answer.status, status, answer.text)
    assert.match(answer.text, message)
  }
  const tooLarge = Buffer.alloc(64 * 1024 * 1024 + 1)
  assert.equal((await send(service, `PUT ${filesOf(id)}/huge`, { body: tooLarge })).status, 413)
})

test('while a run is running files can be read but not changed', async () => {
  const id = await newSession()
  const text = saying(bash('echo here > here.txt'), bash('touch started; sleep 60'), { text: 'Done.' })
  const body = { model: { modelID: 'scripted' }, parts: [{ type: 'text', text }] }
  await send(service, `POST /session/${id}/prompt_async`, { body })
  await eventually(() => {
    try {
      return readFileSync(join(service.dataDir, 'workspaces', id, 'started'))
    } catch {
      return undefined
    }
  })
  assert.equal((await send(service, `GET ${filesOf(id)}/here.txt`)).text, 'here\n')
  for (const line of [`PUT ${filesOf(id)}/x`, `DELETE ${filesOf(id)}/here.txt`]) {
    const answer = await send(service, line, { body: 'x' })
    assert.equal(answer.status, 409)
    assert.match(answer.text, /POST \/session\/.*\/abort/)
  }
  await send(service, `POST /session/${id}/abort`)
  await eventually(async () => (await send(service, `PUT ${filesOf(id)}/x`, { body: 'x' })).status === 200, {})
})

test('the archive holds every file, and the patches of a diff lead from one state to the other', async () => {
  const id = await newSession()
  const name = `${'long'.repeat(30)}/${'name'.repeat(20)}.txt`
  const lines = Array.from({ length: 60 }, (_, at) => `line ${at}`).join('\\n')
  const [first] = await run(
    id,
    `printf '${lines}\\n' > a.txt; printf 'no end' > b.txt; echo gone > gone.txt; head -c 100 /dev/urandom > c.bin`,
    `sed -i 's/line 5$/LINE 5/; s/line 50/LINE 50/' a.txt; printf 'no end\\nmore' > b.txt; rm gone.txt; echo x >> c.bin; mkdir -p ${'long'.repeat(30)}; echo new > ${name}; ln -s a.txt l; chmod 700 b.txt`,
  )
  const unpack = async (query: string) => {
    const folder = temporaryFolder()
    const response = await open(service, `GET /api/sessions/${id}/archive${query}`)
    assert.equal(response.headers['content-type'], 'application/gzip')
    execFileSync('tar', ['xz', '-C', folder], { input: await buffer(response) })
    return folder
  }
  const [before, after] = [await unpack(`?at=${first?.id}`), await unpack('')]
  assert.equal(readFileSync(join(after, name), 'utf8'), 'new\n')
  const { data, more } = (await send(service, `GET /api/sessions/${id}/diff?from=${first?.id}`)).json<{
    data: FileChange[]
    more: number
  }>()
  assert.equal(more, 0)
  assert.deepEqual(
    data.map(({ path, change, patch_omitted }) => [path, change, patch_omitted]),
    [
      ['a.txt', 'modified', null],
      ['b.txt', 'modified', null],
      ['c.bin', 'modified', 'binary'],
      ['gone.txt', 'deleted', null],
      ['l', 'added', 'not_a_file'],
      [name, 'added', null],
    ],
  )
  const patches = data.map(({ patch }) => patch ?? '').join('')
  execFileSync('git', ['apply', '--unsafe-paths', '-'], {
    cwd: before,
    input: patches,
    env: { ...process.env, GIT_DIR: '/nonexistent' },
  })
  for (const path of ['a.txt', 'b.txt', name])
    assert.deepEqual(readFileSync(join(before, path)), readFileSync(join(after, path)))
  const all = (await send(service, `GET /api/sessions/${id}/diff`)).json<{ data: FileChange[]; from: FilesAsOf }>()
  assert.equal(all.from, null)
  assert.ok(all.data.every(({ change }) => change === 'added'))
})

test('checkpoints are listed newest first with what changed, and two of them can be compared', async () => {
  const id = await newSession()
  const results = await run(id, 'mkdir src; echo 1 > src/a.txt; echo 1 > b.txt', 'rm b.txt; echo 2 > src/a.txt', 'true')
  await send(service, `PUT ${filesOf(id)}/c.txt`, { body: 'three', headers: { 'content-type': 'text/plain' } })
  type Page = { data: ListedCheckpoint[]; next_cursor: string | null }
  const page = async (query: string) =>
    (await send(service, `GET /api/sessions/${id}/checkpoints${query}`)).json<Page>()
  const { data, next_cursor } = await page('')
  assert.equal(next_cursor, null)
  assert.deepEqual(
    data.map(({ event_type, files, changed }) => [event_type, files, changed]),
    [
      ['session.files_changed', 2, 1],
      ['agent.tool_result', 1, 2],
      ['agent.tool_result', 2, 2],
    ],
  )
  assert.deepEqual(
    data.slice(1).map(({ event_id, seq }) => [event_id, seq]),
    [results[1], results[0]].map(event => [event?.id, event?.seq]),
  )
  const first = await page('?limit=1')
  assert.deepEqual(first.data, data.slice(0, 1))
  assert.deepEqual((await page(`?limit=2&cursor=${first.next_cursor}`)).data, data.slice(1))
  const [, to, from] = data.map(({ event_id }) => event_id)
  const changes = await send(service, `GET /api/sessions/${id}/diff?from=${from}&to=${to}`)
  assert.deepEqual(
    changes.json<{ data: FileChange[] }>().data.map(({ path, change }) => [path, change]),
    [
      ['b.txt', 'deleted'],
      ['src/a.txt', 'modified'],
    ],
  )
  assert.equal((await send(service, `GET /api/sessions/${id}/checkpoints?cursor=no`)).status, 400)
  assert.equal((await send(service, 'GET /api/sessions/ses_nothing/checkpoints')).status, 404)
})
