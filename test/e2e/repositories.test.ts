import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { fakeProgram } from '../support/acp/acp-rig.ts'
import { startGitServer } from '../support/repositories/git-server.ts'
import { startHostFake } from '../support/repositories/host-fakes.ts'
import { plantCanary, scan } from '../support/secrets/canaries.ts'
import { filePlaces, tablePlaces } from '../support/secrets/canary-places.ts'
import { freshDatabase } from '../support/service/database.ts'
import { send } from '../support/service/send.ts'
import { type Service, startService, temporaryDataDir } from '../support/service/service.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import { bash, configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const { canary, secret } = plantCanary('token of the git host', core => `ghp_${core}`)
const authorization = `Basic ${Buffer.from(`x-access-token:${secret}`).toString('base64')}`
const git = await startGitServer({ accepts: [authorization] })
const host = await startHostFake('github', secret)
const open = await startGitServer()
const upstream = await startScriptedUpstream()
after(() => upstream.stop())

const config = JSON.stringify({
  ...JSON.parse(configFor(upstream)),
  outbound: { allow: [`127.0.0.1:${upstream.port}`, git.host, host.host, open.host] },
  runtime_harnesses: [
    {
      ...{ alias: 'program', api_spec: 'acp', command: ['node', fakeProgram] },
      env: { NODE_OPTIONS: '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON' },
    },
  ],
  git_hosts: [{ host: git.host, type: 'github', api_base: host.url, credential: 'git-token' }],
})
const encryptionKey = Buffer.alloc(32, 7)
const database = await freshDatabase()
const dataDir = await temporaryDataDir()
const start = (): Promise<Service> =>
  startService({
    config,
    databaseUrl: database.url,
    dataDir,
    env: { SWITCHYARD_ENCRYPTION_KEY: encryptionKey.toString('base64') },
  })
let service = await start()
after(async () => {
  await service.stop()
  await rm(dataDir, { recursive: true, force: true })
})

const first = await git.create('acme/shop.git', {
  'price.sh': 'echo 41\n',
  'test.sh': '[ "$(sh price.sh)" = 42 ] && echo tests pass\n',
})
await git.create('acme/other.git', { 'secret.txt': 'private' })

type Shown = Session & { repository?: { branch: string; pull_request: { url: string } | null } }

async function create(environment: Record<string, unknown>, more: object = {}): Promise<string> {
  const body = { title: 'Fix the price', environment, ...more }
  const { status, text } = await send(service, 'POST /session', { body })
  assert.equal(status, 200, text)
  return (JSON.parse(text) as Session).id
}

const prompt = (id: string, ...answers: readonly Answer[]) =>
  send(service, `POST /session/${id}/message`, {
    body: { model: { modelID: 'scripted' }, parts: [{ type: 'text', text: saying(...answers) }] },
  })
const eventsOf = async (id: string) =>
  (await send(service, `GET /v1/sessions/${id}/events?limit=500`)).json<{ data: SessionEvent[] }>().data
const show = async (id: string) => (await send(service, `GET /session/${id}`)).json<Shown>()
const workspaceOf = (id: string) => join(service.dataDir, 'workspaces', id)
const outputs = (events: readonly SessionEvent[]) =>
  events.flatMap(event => (event.type === 'agent.tool_result' ? [JSON.stringify(event.content)] : []))

test('S59: a session clones, edits, tests, commits, pushes and opens a pull request; the credential stays outside', async () => {
  const stored = await send(service, 'POST /api/vault', { body: { key: 'git-token', value: secret } })
  assert.equal(stored.status, 200, stored.text)
  const id = await create({ repository: `${git.url}/acme/shop.git`, ref: 'main', auto_create_pr: true })
  const branch = `switchyard/${id}`
  const looks = [
    'env; git config --list --show-origin; git remote -v; cat .git/config; mount',
    'for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline; do tr "\\0" "\\n" < $f; done 2>/dev/null',
    'cat /run/*/* ~/.netrc ~/.git-credentials 2>/dev/null | head -c 20000',
    `curl -si http://git.switchyard.internal/acme/shop.git/info/refs?service=git-upload-pack 2>/dev/null | head -c 2000`,
  ]
  const answered = await prompt(
    id,
    bash('git status --short --branch && git log --format=%H && sh test.sh; true'),
    ...looks.map(bash),
    { tool_calls: [{ name: 'edit', input: { file_path: 'price.sh', old_string: '41', new_string: '42' } }] },
    bash('sh test.sh && git commit -qam "Correct the price" && git log -1 --format=%an'),
    bash('git push origin HEAD:main 2>&1; git ls-remote http://git.switchyard.internal/acme/other.git 2>&1; true'),
    bash('git push 2>&1 && echo pushed; echo "for review" > NOTES.md'),
    { text: 'The price is correct now.' },
  )
  assert.equal(answered.status, 200, answered.text)
  const events = await eventsOf(id)
  const shown = JSON.stringify(events, null, 1)
  const [before = '', , , , , , tested = '', denied = '', pushed = ''] = outputs(events)
  assert.match(before, new RegExp(`## ${branch}.*${first}`, 's'), shown)
  assert.doesNotMatch(before, /tests pass/)
  assert.match(tested, /tests pass.*Switchyard/s)
  assert.match(denied, new RegExp(`this session may push to ${branch} only`))
  assert.match(denied, /this session may use its own repository only/)
  assert.match(pushed, /pushed/)

  const ready = events.find(({ type }) => type === 'session.repository_ready') as unknown as { repository: object }
  assert.deepEqual(ready?.repository, {
    url: `${git.url}/acme/shop.git`,
    ...{ branch, base: 'main', commit: first, submodules: [], pushed_commit: null, pull_request: null },
  })
  const url = `${host.url}/acme/shop/pull/1`
  const proposal = events.find(({ type }) => type === 'session.repository_pushed') as unknown as { commit: string }
  assert.deepEqual((proposal as unknown as { pull_request: object }).pull_request, { number: 1, url })
  const end = events.findLast(({ type }) => type === 'session.status_idle') as unknown as { git: object }
  assert.deepEqual(end.git, { branches: [{ repoUrl: `${git.url}/acme/shop.git`, branch, prUrl: url }] })
  assert.equal((await show(id)).repository?.pull_request?.url, url)

  assert.equal(await git.git('acme/shop.git', 'rev-parse', branch), proposal.commit)
  assert.equal(await git.git('acme/shop.git', 'rev-parse', 'main'), first, 'the base did not change')
  assert.equal(await git.git('acme/shop.git', 'show', `${branch}:NOTES.md`), 'for review', 'the rest is committed')
  assert.deepEqual((await git.git('acme/shop.git', 'log', '--format=%s', `main..${branch}`)).split('\n'), [
    'Fix the price',
    'Correct the price',
  ])
  const [{ isOpen: _isOpen, ...pull } = assert.fail('no pull request')] = host.pulls
  assert.deepEqual(pull, {
    ...{ repository: 'acme/shop', branch, base: 'main', title: 'Fix the price' },
    body: `The price is correct now.\n\n---\nSession ${id}`,
  })

  // A prompt without new work proposes nothing; later work goes to the same pull request.
  await prompt(id, { text: 'Nothing to do.' })
  await prompt(id, bash('echo more >> NOTES.md'), { text: 'One more line.' })
  const later = (await eventsOf(id)).filter(({ type }) => type === 'session.repository_pushed')
  assert.equal(later.length, 2)
  assert.equal(host.pulls.length, 1)
  assert.equal(await git.git('acme/shop.git', 'show', `${branch}:NOTES.md`), 'for review\nmore')

  const { tables } = await tablePlaces(service.databaseUrl, encryptionKey)
  const places = [
    ...tables,
    ...['cmdline', 'environ'].map(name => [name, readFileSync(`/proc/${service.pid}/${name}`)] as const),
    ...filePlaces(service.dataDir).filter(([name]) => !name.startsWith('file postgres')),
    ['log', service.logs()] as const,
    ['outputs of the tools', outputs(events).join('\n')] as const,
  ]
  assert.deepEqual(scan(places, [canary]).findings, [])
  assert.ok(
    git.requests.some(request => request.authorization === authorization),
    'the canary was used',
  )
})

test('problems end the prompt with a clear error, leave nothing behind, and the next prompt tries again', async () => {
  const failed = async (environment: Record<string, unknown>, expected: RegExp) => {
    const id = await create(environment)
    await prompt(id, { text: 'not reached' })
    const [error] = (await eventsOf(id)).filter(({ type }) => type === 'session.error')
    assert.match(JSON.stringify(error ?? (await eventsOf(id))), expected)
    assert.deepEqual(await readdir(workspaceOf(id)), [])
    return id
  }
  const repository = `${git.url}/acme/shop.git`
  await failed({ repository: `${git.url}/acme/none.git` }, /has no such repository, or the credential of vault entry/)
  await failed(
    { repository, ref: 'no-such-branch' },
    /environment\.ref no-such-branch is no branch, tag or full commit id/,
  )
  await failed({ repository: 'http://127.0.0.1:9/acme/shop' }, /outbound\.allow/)

  const uploaded = await create({ repository })
  const file = `/api/sessions/${uploaded}/files/price.sh`
  const put = await send(service, `PUT ${file}`, {
    body: 'mine',
    headers: { 'content-type': 'application/octet-stream' },
  })
  assert.equal(put.status, 200, put.text)
  await prompt(uploaded, { text: 'not reached' })
  const [conflict] = (await eventsOf(uploaded)).filter(({ type }) => type === 'session.error')
  assert.match(JSON.stringify(conflict), /untracked working tree files would be overwritten.*price\.sh/)
  assert.deepEqual(await readdir(workspaceOf(uploaded)), ['price.sh'])
  assert.equal((await send(service, `DELETE ${file}`)).status, 204)
  await prompt(uploaded, bash('cat price.sh'), { text: 'done' })
  assert.match(outputs(await eventsOf(uploaded)).join(), /echo 41/)

  await send(service, 'POST /api/vault', { body: { key: 'git-token', value: 'ghp_wrong_0123456789' } })
  const id = await failed({ repository }, /rejected the credential of vault entry git-token \(HTTP 401\)/)
  await send(service, 'POST /api/vault', { body: { key: 'git-token', value: secret } })
  await prompt(id, bash('cat price.sh'), { text: 'done' })
  assert.match(outputs(await eventsOf(id)).join(), /echo 41/)

  host.fates.push(500)
  const proposing = await create({ repository, auto_create_pr: true })
  await prompt(proposing, bash('echo x > x.txt'), { text: 'done' })
  const [warning] = (await eventsOf(proposing)).filter(({ type }) => type === 'session.warning')
  assert.match(JSON.stringify(warning), /pull_request_failed.*cannot propose .*GitHub did not open .*HTTP 500/)
  await prompt(proposing, { text: 'again' })
  assert.match((await show(proposing)).repository?.pull_request?.url ?? '', /pull\/2$/)
})

test('tags, commits and submodules are checked out; hostile content of a repository has no effect', async () => {
  const lib = await open.create('acme/lib.git', { 'lib.txt': 'library\n' })
  const hostile = await open.create('acme/hostile.git', {
    ...{ 'README.md': 'one\n', lib: { commit: lib }, far: { commit: lib } },
    out: { link: '/etc' },
    '.gitconfig': '[core]\n\thooksPath = hooks\n[alias]\n\tstatus = "!touch /workspace/pwned"\n',
    'hooks/post-checkout': '#!/bin/sh\ntouch /workspace/pwned\n',
    '.gitattributes': '*.bin filter=lfs\n',
    'big.bin': 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 99999999\n',
    '.gitmodules': [
      '[submodule "lib"]\n\tpath = lib\n\turl = ../lib.git',
      '[submodule "far"]\n\tpath = far\n\turl = ext::touch /workspace/pwned',
    ].join('\n'),
  })
  await open.git('acme/hostile.git', 'tag', 'v1')
  const repository = `${open.url}/acme/hostile.git`
  for (const ref of ['v1', hostile]) {
    const id = await create({ repository, ref, submodules: true })
    await prompt(id, bash('cat lib/lib.txt; ls far; cat big.bin; git -C lib fetch 2>&1 && echo fetched'), {
      text: 'ok',
    })
    const shown = outputs(await eventsOf(id)).join()
    assert.match(shown, /library.*git-lfs.*fetched/s, shown)
    assert.ok(!(await readdir(workspaceOf(id))).includes('pwned'))
    const record = (await show(id)).repository as unknown as { base: string; submodules: string[] }
    assert.deepEqual([record.base, record.submodules], ['main', ['/acme/lib']])
    const leak = await send(service, `GET /api/sessions/${id}/files/out/passwd`)
    assert.notEqual(leak.status, 200)
  }
})

test('a large history stays at the host: a session gets the last commit only', async () => {
  const path = 'acme/long.git'
  const old = await open.create(path, { 'old.bin': randomBytes(8_000_000).toString('base64') })
  const empty = await open.git(path, 'hash-object', '-w', '-t', 'tree', '/dev/null')
  const last = await open.git(path, 'commit-tree', empty, '-p', old, '-m', 'second')
  await open.git(path, 'update-ref', 'refs/heads/main', last)
  const id = await create({ repository: `${open.url}/${path}` })
  await prompt(id, bash('git log --format=%s; [ $(du -sk .git | cut -f1) -lt 2000 ] && echo small'), { text: 'ok' })
  assert.match(outputs(await eventsOf(id)).join(), /"second\\nsmall"/)
})

test('a server that is killed during the clone repeats it without a trace of the first one', async () => {
  const blocked = Promise.withResolvers<void>()
  open.intercept(request => {
    // The first fetch never gets its pack.
    if (request.method !== 'POST') return false
    blocked.resolve()
    return true
  })
  const id = await create({ repository: `${open.url}/acme/lib.git` })
  const body = { parts: [{ type: 'text', text: saying(bash('cat lib.txt; git status --short'), { text: 'done' }) }] }
  await send(service, `POST /session/${id}/prompt_async`, { body: { model: { modelID: 'scripted' }, ...body } })
  await blocked.promise
  await service.kill()
  open.intercept(() => false)
  service = await start()
  for (let tries = 0; tries < 600 && !(await eventsOf(id)).some(({ type }) => type === 'session.status_idle'); tries++)
    await new Promise(resolve => setTimeout(resolve, 100))
  const events = await eventsOf(id)
  assert.match(outputs(events).join(), /library/, JSON.stringify(events, null, 1))
  assert.equal(events.filter(({ type }) => type === 'session.repository_ready').length, 1)
  assert.match(await readFile(join(workspaceOf(id), '.git', 'HEAD'), 'utf8'), new RegExp(`switchyard/${id}`))

  // Checkpoints exclude large packs: on another machine the objects are missing.
  await prompt(id, bash('echo changed > lib.txt'), { text: 'done' })
  await rm(join(workspaceOf(id), '.git', 'objects'), { recursive: true })
  await prompt(id, bash('git status --short; git log --format=%s; cat lib.txt'), { text: 'done' })
  const after = await eventsOf(id)
  assert.match(outputs(after).at(-1) ?? '', / M lib\.txt.*first.*changed/s)
  const repaired = after.filter(({ type, ...event }) => type === 'session.repository_ready' && event['repaired'])
  assert.equal(repaired.length, 1)

  const forked = await send(service, `POST /session/${id}/fork`, { body: {} })
  const fork = forked.json<Session>().id
  await prompt(fork, bash('git status --short --branch; cat lib.txt'), { text: 'done' })
  assert.match(outputs(await eventsOf(fork)).at(-1) ?? '', new RegExp(`## switchyard/${fork}.*M lib.txt.*changed`, 's'))
})

test('a local program works in the clone and pushes without a credential', async () => {
  const id = await create({ repository: `${git.url}/acme/shop.git`, auto_create_pr: true }, { runtime: 'program' })
  const steps = [
    { tell: 'prompt' },
    {
      shell:
        'cat price.sh; env; git push 2>&1; git commit -q --allow-empty -m empty; git push origin HEAD:main 2>&1; echo by program > PROGRAM.md',
    },
  ]
  const body = { parts: [{ type: 'text', text: `[${JSON.stringify(steps)}]` }] }
  const answered = await send(service, `POST /session/${id}/message`, { body })
  assert.equal(answered.status, 200, answered.text)
  const shown = JSON.stringify(await eventsOf(id), null, 1)
  assert.match(shown, /echo 41/)
  assert.match(shown, /new branch\].*switchyard\//, shown)
  assert.match(shown, /this session may push to switchyard/)
  assert.match((await show(id)).repository?.pull_request?.url ?? shown, /pull\/\d+$/)
  assert.equal(await git.git('acme/shop.git', 'show', `switchyard/${id}:PROGRAM.md`), 'by program')
  assert.deepEqual(scan([['events', shown]], [canary]).findings, [])
})
