import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { doing, fakeProgram } from '../support/acp/acp-rig.ts'
import { dockerForTests, lackEngine } from '../support/docker/docker-for-tests.ts'
import { fakeImage } from '../support/docker/fake-engine.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { startGitServer } from '../support/repositories/git-server.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { lack } from '../support/service/lack.ts'
import { isRunning, release, waitingCommand } from '../support/service/processes.ts'
import { send } from '../support/service/send.ts'
import { startService, temporaryDataDir } from '../support/service/service.ts'
import type { ToolCall } from '../support/sessions/tool-session.ts'
import { markerScript } from '../support/upstream/marker-script.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import { bash, configFor, saying } from '../support/upstream/scripted-service.ts'
import { type Recorded, startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const other = 'other:1'

if (!lackEngine && !lack('socat')) {
  const { engine, settings } = await dockerForTests({ engine: { images: [fakeImage, other] }, images: [other] })
  /** `JOB` in the input of a call is the job that the conversation started last. */
  const script = async (request: Recorded): Promise<Answer> => {
    const job =
      request.rawBody
        .toString()
        .match(/job_\w{8,}/g)
        ?.at(-1) ?? ''
    return JSON.parse(JSON.stringify(markerScript(request)).replaceAll('JOB', job)) as Answer
  }
  const upstream = await startScriptedUpstream({ script })
  const secret = 'ghp_docker_0123456789'
  const git = await startGitServer({
    accepts: [`Basic ${Buffer.from(`x-access-token:${secret}`).toString('base64')}`],
  })
  await git.create('acme/shop.git', { 'price.sh': 'echo 41\n' })
  const { url: databaseUrl } = await freshDatabase()
  const dataDir = await temporaryDataDir()
  const config = JSON.stringify({
    ...JSON.parse(configFor(upstream)),
    outbound: { allow: [`127.0.0.1:${upstream.port}`, git.host] },
    sandbox: { driver: 'docker', image: fakeImage, images: [other], docker: { socket: settings.docker.socket } },
    // Node is not in the image, so it is mounted.
    runtime_harnesses: [{ alias: 'program', api_spec: 'acp', command: [process.execPath, fakeProgram] }],
    git_hosts: [{ host: git.host, type: 'github', api_base: git.url, credential: 'git-token' }],
  })
  const start = () => startService({ databaseUrl, dataDir, config })
  let service = await start()
  after(async () => {
    await service.stop()
    await upstream.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  async function ok<T>(line: string, body?: unknown): Promise<T> {
    const answer = await send(service, line, body === undefined ? {} : { body })
    assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
    return answer.text === '' ? (undefined as T) : answer.json<T>()
  }
  const create = async (agentConfig: object, more: object = {}, environment: object = {}): Promise<string> => {
    const fields = { name: 'Docker', owner_id: 'ada', model: 'scripted', config: agentConfig, ...more }
    const { id: agent_id } = await ok<Agent>('POST /api/agents', fields)
    return (await ok<Session>('POST /session', { agent_id, environment })).id
  }
  const promptOf = (text: string) => ({ model: { modelID: 'scripted' }, parts: [{ type: 'text', text }] })
  const logOf = async (id: string) =>
    (await ok<{ data: SessionEvent[] }>(`GET /v1/sessions/${id}/events?limit=1000`)).data
  const textsOf = (log: readonly SessionEvent[], type: string): string[] =>
    log
      .filter(event => event.type === type)
      .map(({ content }) => ((content ?? []) as { readonly text?: string }[]).map(({ text = '' }) => text).join(''))
  /** Results of the calls of a turn, one call per step. */
  async function results(id: string, ...calls: ToolCall[]): Promise<string[]> {
    const before = textsOf(await logOf(id), 'agent.tool_result').length
    const steps = calls.map(call => ({ tool_calls: [call] }))
    await ok(`POST /session/${id}/message`, promptOf(saying(...steps, { text: 'Done.' })))
    const log = await logOf(id)
    assert.equal(log.at(-1)?.type, 'session.status_idle', JSON.stringify(log))
    return textsOf(log, 'agent.tool_result').slice(before)
  }
  const run = (command: string, more: object = {}): ToolCall => ({ name: 'bash', input: { command, ...more } })
  const noContainers = () => eventually(() => engine.containers.size === 0, { what: 'the removal of all containers' })
  const imagesOf = (): string[] =>
    engine.requests
      .filter(({ path }) => path === '/containers/create')
      .map(({ body }) => (body as { Image: string }).Image)

  // What the fake keeps of a set-up is /opt.
  const writesId = 'cat /proc/sys/kernel/random/uuid > /opt/made'
  const id = /^[0-9a-f-]{36}$/
  const prepared = { image: other, setup: ['id -u > /opt/user', writesId] }
  let made = ''

  test('a session works in its image after the set-up, and its files are those of the API and of checkpoints', async () => {
    const session = await create({ sandbox: prepared })
    const [first = '', , text, , , fromJob] = await results(
      session,
      run('cat /opt/made; cat /opt/user > user.txt'),
      { name: 'write', input: { file_path: 'src/a.txt', content: 'one\ntwo\n' } },
      run('cat src/a.txt; echo three >> src/a.txt; echo x > /opt/made'),
      run('cat /opt/made; touch job.txt; sleep 600', { run_in_background: true }),
      run('until [ -e job.txt ]; do sleep 0.02; done'),
      { name: 'bash_output', input: { job_id: 'JOB' } },
    )
    assert.match(first, id)
    made = first
    assert.match(text ?? '', /^one\ntwo\n.*Read-only file system/s)
    assert.ok(fromJob?.includes(made), fromJob)
    const images = new Set(imagesOf())
    assert.ok(images.has(other) && [...images].some(name => name.startsWith('switchyard-setup:')), [...images].join())
    await noContainers()
    const file = await send(service, `GET /api/sessions/${session}/files/src/a.txt`)
    assert.deepEqual([file.status, file.text], [200, 'one\ntwo\nthree\n'])
    assert.equal((await send(service, `GET /api/sessions/${session}/files/user.txt`)).text, '0\n')
    const put = await send(service, `PUT /api/sessions/${session}/files/given.txt`, { body: 'given\n' })
    assert.ok(put.status < 300, put.text)
    const [again, read] = await results(session, run('cat /opt/made given.txt; echo 4 > last.txt'), {
      name: 'read',
      input: { file_path: 'src/a.txt' },
    })
    assert.equal(again, `${made}\ngiven`)
    assert.match(read ?? '', /3\tthree/)
    const step = (await logOf(session)).find(({ type }) => type === 'agent.tool_result')
    const old = await send(service, `GET /api/sessions/${session}/files?at=${step?.id}`)
    assert.ok(old.text.includes('user.txt') && !old.text.includes('last.txt'), old.text)
    assert.equal(engine.requests.filter(({ path }) => path === '/commit').length, 1)
  })

  test('a program runs in the image after the set-up, and calls models', async () => {
    const session = await create({ sandbox: prepared }, { runtime: 'program' })
    const steps = doing({ shell: 'cat /opt/made; echo hi > said.txt' }, { model: 'hi' }, { stop: 'end_turn' })
    await ok(`POST /session/${session}/message`, promptOf(steps))
    const log = await logOf(session)
    assert.equal(textsOf(log, 'agent.message').join(''), `${made}\n(200)`, JSON.stringify(log))
    assert.equal((await send(service, `GET /api/sessions/${session}/files/said.txt`)).text, 'hi\n')
    await ok(`DELETE /session/${session}`)
    await noContainers()
  })

  test('a limited network with secrets goes through the container of the proxy, which the set-up has too', async () => {
    const ada = await holderOf(service, { owner_id: 'ada' })
    const token = 'tok-docker-0123456789'
    const stored = await send(ada, 'POST /api/vault', { body: { key: 'TOKEN', value: token, scope: 'owner' } })
    assert.equal(stored.status, 200, stored.text)
    await ok('POST /api/vault', { key: 'git-token', value: secret, scope: 'global' })
    const asked = 'curl -sS http://other.example/ 2>&1; echo; curl -sS https://api.example.invalid/ 2>&1; echo'
    const network = {
      type: 'limited',
      allowed_hosts: ['api.example.invalid'],
      secrets: [
        { vault_key: 'TOKEN', host: 'api.example.invalid', header: 'authorization', auth_type: 'bearer_token' },
      ],
    }
    const session = await create(
      { network, sandbox: { setup: [`{ ${asked}; env; } > /opt/seen || true`] } },
      {},
      { repository: `${git.url}/acme/shop.git`, ref: 'main' },
    )
    const [inSetup = '', inRun = '', cloned] = await results(
      session,
      run('cat /opt/seen'),
      run(`${asked}; env`),
      run('sh price.sh; git remote -v; git fetch 2>&1 && echo fetched'),
    )
    for (const output of [inSetup, inRun]) {
      assert.match(output, /^network access denied: other\.example is not in config\.network\.allowed_hosts/)
      assert.match(output, /\ncannot reach api\.example\.invalid/)
      assert.match(output, /SSL_CERT_FILE=/)
      for (const value of [secret, token]) assert.ok(!output.includes(value), output)
    }
    assert.match(cloned ?? '', /^41\n.*fetched$/s)
    await noContainers()
  })

  test('a service killed during a command and a set-up leaves no container after its restart, and the sessions continue', async () => {
    const [command, inSetup] = [waitingCommand(), waitingCommand()]
    const working = await create({ sandbox: prepared })
    const preparing = await create({ sandbox: { setup: [`${inSetup} || true`, writesId] } })
    const steps = saying(
      bash('echo kept > kept.txt'),
      bash(`echo half > half.txt; ${command}`),
      bash('cat /opt/made kept.txt'),
      { text: 'Done.' },
    )
    await ok(`POST /session/${working}/prompt_async`, promptOf(steps))
    await ok(`POST /session/${preparing}/prompt_async`, promptOf(saying(bash('cat /opt/made'), { text: 'Done.' })))
    await eventually(() => isRunning(command) && isRunning(inSetup), { what: 'both commands' })
    await service.kill()
    await eventually(() => !isRunning(command) && !isRunning(inSetup), { what: 'the end of both commands' })
    service = await start()
    await eventually(() => isRunning(inSetup), { what: 'another set-up' })
    release(inSetup)
    const outputOf = async (session: string): Promise<string[]> => {
      const log = await eventually(
        async () => {
          const all = await logOf(session)
          return all.at(-1)?.type === 'session.status_idle' && all
        },
        { what: 'the end of the run' },
      )
      assert.ok(!log.some(({ type }) => type === 'session.error'), JSON.stringify(log))
      return textsOf(log, 'agent.tool_result')
    }
    const [, lost, seen] = await outputOf(working)
    assert.match(lost ?? '', /outcome unknown/)
    assert.equal(seen, `${made}\nkept`)
    assert.match((await outputOf(preparing)).at(-1) ?? '', id)
    await noContainers()
  })

  test('an interrupt removes the container of a command', async () => {
    const command = waitingCommand()
    const session = await create({ sandbox: prepared })
    await ok(`POST /session/${session}/prompt_async`, promptOf(saying(bash(command))))
    await eventually(() => isRunning(command), { what: command })
    await ok(`POST /session/${session}/interrupt`)
    await eventually(async () => (await logOf(session)).at(-1)?.stop_details?.type === 'interrupted')
    await noContainers()
    assert.ok(!isRunning(command))
  })

  test('an image that is not in the list is 400 with those that are', async () => {
    const body = { name: 'W', owner_id: 'ada', config: { sandbox: { image: 'debian:trixie' } } }
    const answer = await send(service, 'POST /api/agents', { body })
    assert.equal(answer.status, 400)
    assert.match(
      answer.text,
      /config\.sandbox\.image is not allowed; use one of fake:1, other:1, or add it to sandbox\.images in the configuration/,
    )
  })
}
