import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { doing, fakeProgram } from '../support/acp/acp-rig.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { lack } from '../support/service/lack.ts'
import { isRunning, release, waitingCommand } from '../support/service/processes.ts'
import { send, type Target } from '../support/service/send.ts'
import { type Service, startService, temporaryDataDir } from '../support/service/service.ts'
import { bash, configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const needsBubblewrap = { skip: lack('bubblewrap') }
const upstream = await startScriptedUpstream()
const { url: databaseUrl } = await freshDatabase()
const dataDir = await temporaryDataDir()
const harness = { alias: 'program', api_spec: 'acp', command: ['node', fakeProgram] }
const config = (driver: string) =>
  JSON.stringify({ ...JSON.parse(configFor(upstream)), sandbox: { driver }, runtime_harnesses: [harness] })
const start = (): Promise<Service> => startService({ databaseUrl, dataDir, config: config('bubblewrap') })
let service = await (needsBubblewrap.skip ? startService({ config: config('virtual') }) : start())
after(async () => {
  await service.stop()
  await upstream.stop()
  await rm(dataDir, { recursive: true, force: true })
})
const ada = await holderOf(service, { owner_id: 'ada' })
const ben = await holderOf(service, { owner_id: 'ben' })

async function ok<T>(target: Target, line: string, body?: unknown): Promise<T> {
  const { url } = service
  const answer = await send({ ...target, url }, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.text === '' ? (undefined as T) : answer.json<T>()
}

const agentOf = (owner_id: string, setup: readonly string[], more: object = {}) => ({
  ...{ name: 'Ready', owner_id, model: 'scripted' },
  config: { sandbox: { setup }, ...more },
})
const sessionOf = async (target: Target, agent_id: string, runtime = 'builtin'): Promise<string> =>
  (await ok<Session>(target, 'POST /session', { agent_id, runtime })).id

const promptOf = (command: string) => ({
  model: { modelID: 'scripted' },
  parts: [{ type: 'text', text: saying(bash(command), { text: 'Done.' }) }],
})
const logOf = async (id: string) =>
  (await ok<{ data: SessionEvent[] }>(service, `GET /v1/sessions/${id}/events?limit=1000`)).data
const textOf = ({ content }: SessionEvent): string =>
  ((content ?? []) as { readonly text?: string }[]).map(({ text = '' }) => text).join('')
const outputOf = (log: readonly SessionEvent[]): string => {
  const result = log.findLast(({ type }) => type === 'agent.tool_result')
  return result ? textOf(result) : JSON.stringify(log)
}
const errorOf = (log: readonly SessionEvent[]): string =>
  String((log.findLast(({ type }) => type === 'session.error')?.['error'] as { message?: string } | undefined)?.message)

/** Output of a command that the model calls in a turn of a session. */
async function outputIn(target: Target, id: string, command: string): Promise<string> {
  await ok(target, `POST /session/${id}/message`, promptOf(command))
  return outputOf(await logOf(id))
}

/** Output of a command in a new session. */
const outputInNew = async (target: Target, agentId: string, command: string): Promise<string> =>
  outputIn(target, await sessionOf(target, agentId), command)

/** Each set-up writes another id, so sessions with the same id share one. */
const writesId = 'cat /proc/sys/kernel/random/uuid > ~/made'
const installs = [
  'mkdir -p ~/.local/bin && cd ~/.local/bin && printf \'#!/bin/sh\\necho tool of "$(cat ~/made)"\\n\' > my-tool',
  'chmod +x ~/.local/bin/my-tool',
  writesId,
]
const toolOutput = /^tool of [0-9a-f-]{36}$/

const started = (command: string) => eventually(() => isRunning(command), { what: command })
const waitsFor = (command: string) => [`${command} || true`, ...installs]

test(
  'the first tool call finds what the set-up made, and all sessions of the agent share one set-up',
  needsBubblewrap,
  async () => {
    const { id } = await ok<Agent>(ada, 'POST /api/agents', agentOf('ada', installs))
    const sessions = [await sessionOf(ada, id), await sessionOf(ada, id)] as const
    const [first, second] = await Promise.all(sessions.map(session => outputIn(ada, session, 'my-tool')))
    assert.match(first ?? '', toolOutput)
    assert.equal(second, first, 'sessions that start at the same time share a set-up')
    await outputIn(ada, sessions[0], 'echo changed > ~/made; touch ~/mine')
    assert.equal(await outputIn(ada, sessions[0], 'my-tool; ls ~/mine'), 'tool of changed\n/home/agent/mine')
    assert.equal(await outputInNew(ada, id, 'my-tool; ls -A ~'), `${first}\n.local\nmade`)

    const program = await sessionOf(ada, id, 'program')
    const parts = [{ type: 'text', text: doing({ shell: 'my-tool' }) }]
    await ok(ada, `POST /session/${program}/message`, { model: { modelID: 'scripted' }, parts })
    const said = (await logOf(program)).filter(({ type }) => type === 'agent.message').map(textOf)
    assert.equal(said.join(''), `${first}\n`, 'a program finds it as well')

    const other = await ok<Agent>(ben, 'POST /api/agents', agentOf('ben', installs))
    const ofBen = await outputInNew(ben, other.id, 'my-tool')
    assert.match(ofBen, toolOutput)
    assert.notEqual(ofBen, first, 'owners share no set-up')

    await ok(ada, `PATCH /api/agents/${id}`, agentOf('ada', [...installs, 'touch ~/more']))
    const changed = await outputInNew(ada, id, 'my-tool; ls ~/more')
    assert.ok(!changed.startsWith(first ?? '') && changed.endsWith('/home/agent/more'), changed)
    await ok(ada, `PATCH /api/agents/${id}`, agentOf('ada', installs))
    assert.equal(await outputInNew(ada, id, 'my-tool'), first)
  },
)

test(
  'a set-up that fails ends the run with the end of its output, and the next prompt tries again',
  needsBubblewrap,
  async () => {
    const setup = [`seq 1 2000; ${writesId}; cat ~/made`, 'echo no such package >&2; exit 7', 'echo never']
    const { id: agentId } = await ok<Agent>(ada, 'POST /api/agents', agentOf('ada', setup))
    const id = await sessionOf(ada, agentId)
    const failures: string[] = []
    for (let at = 1; at <= 2; at++) {
      await ok(ada, `POST /session/${id}/message`, promptOf('echo reached'))
      const log = await logOf(id)
      assert.ok(!log.some(({ type }) => type === 'agent.tool_result' || type === 'agent.message'))
      assert.equal(log.filter(({ type }) => type === 'session.error').length, at)
      assert.equal((await ok<Session>(ada, `GET /session/${id}`)).status, 'error')
      failures.push(errorOf(log))
    }
    const [first = '', second = ''] = failures
    assert.match(
      first,
      /^config\.sandbox\.setup failed; the end of its output: .*\n2000\n[0-9a-f-]{36}\nno such package\ncommand 2 of 3 ended with exit code 7$/s,
    )
    assert.ok(first.length < 2_200 && first !== second, 'another run of the commands')
  },
)

test('an interrupt and a time limit end a run during the set-up at once', needsBubblewrap, async () => {
  const command = waitingCommand()
  const setup = waitsFor(command)
  const { id: agentId } = await ok<Agent>(ada, 'POST /api/agents', agentOf('ada', setup))
  const id = await sessionOf(ada, agentId)
  await ok(ada, `POST /session/${id}/prompt_async`, promptOf('my-tool'))
  await started(command)
  await ok(ada, `POST /session/${id}/interrupt`)
  await eventually(async () => (await logOf(id)).at(-1)?.stop_details?.type === 'interrupted')

  const quick = await ok<Agent>(ada, 'POST /api/agents', agentOf('ada', setup, { time_limit_seconds: 1 }))
  const late = await sessionOf(ada, quick.id)
  await ok(ada, `POST /session/${late}/message`, promptOf('my-tool'))
  assert.match(errorOf(await logOf(late)), /^run exceeded the time limit of its agent \(1 s\)/)

  release(command)
  const output = await outputIn(ada, id, 'my-tool')
  assert.match(output, toolOutput)
  assert.equal(await outputIn(ada, late, 'my-tool'), output, 'the interrupted set-up continued')
})

test('a session whose service was killed during the set-up continues with another one', needsBubblewrap, async () => {
  const command = waitingCommand()
  const { id: agentId } = await ok<Agent>(ada, 'POST /api/agents', agentOf('ada', waitsFor(command)))
  const id = await sessionOf(ada, agentId)
  await ok(ada, `POST /session/${id}/prompt_async`, promptOf('my-tool'))
  await started(command)
  await service.kill()
  await eventually(() => !isRunning(command), { what: 'the end of the set-up' })
  service = await start()
  await eventually(() => isRunning(command), { what: 'another set-up' })
  release(command)
  const log = await eventually(async () => {
    const all = await logOf(id)
    return all.at(-1)?.type === 'session.status_idle' && all
  })
  assert.match(outputOf(log), toolOutput)
  assert.equal(log.filter(({ type }) => type === 'session.error').length, 0)
  assert.equal(await outputInNew(ada, agentId, 'my-tool'), outputOf(log))
})

test('what a sandbox cannot be is 400 with its field, and no agent is stored', async () => {
  const virtual = needsBubblewrap.skip ? service : await startService({ config: config('virtual') })
  const bodyWith = (sandbox: unknown) => ({ name: 'Wrong', owner_id: 'ada', model: 'scripted', config: { sandbox } })
  const noImages =
    /config\.sandbox\.image needs sandbox\.driver docker or kubernetes in the configuration, but this service uses: /
  const cases: (readonly [where: Target, sandbox: unknown, message: RegExp])[] = [
    [virtual, { image: 'debian:trixie' }, noImages],
    [
      virtual,
      { setup: ['true'] },
      /config\.sandbox\.setup needs the sandbox bubblewrap or docker, but this service uses: /,
    ],
    [virtual, { setup: [], memory: 1 }, /config\.sandbox\.memory is unknown; known fields: image, setup/],
    [virtual, 'debian', /config\.sandbox must be/],
    [virtual, { setup: 'true' }, /config\.sandbox\.setup/],
    [virtual, { setup: ['true', 7] }, /config\.sandbox\.setup\[1\]/],
    [virtual, { setup: [''] }, /config\.sandbox\.setup\[0\]/],
    [virtual, { setup: ['x'.repeat(10_001)] }, /config\.sandbox\.setup\[0\].*10,?000/],
    [virtual, { setup: Array(51).fill('true') }, /config\.sandbox\.setup.*50/],
    [virtual, { image: '' }, /config\.sandbox\.image/],
    [virtual, { image: 'x'.repeat(256) }, /config\.sandbox\.image.*255/],
  ]
  if (!needsBubblewrap.skip)
    cases.push(
      [service, { image: 'debian:trixie' }, noImages],
      [
        service,
        { setup: Array(20).fill(':'.repeat(9_000)) },
        /config\.sandbox\.setup has 18\d{4} bytes .* limit is 100000/,
      ],
    )
  for (const [target, sandbox, message] of cases) {
    const answer = await send(target, 'POST /api/agents', { body: bodyWith(sandbox) })
    assert.equal(answer.status, 400, `${JSON.stringify(sandbox).slice(0, 60)}: ${answer.text}`)
    assert.match(answer.json<{ error: { message: string } }>().error.message, message)
  }
  const { id, version } = await ok<Agent & { version: number }>(service, 'POST /api/agents', bodyWith(null))
  const patch = await send(service, `PATCH /api/agents/${id}`, { body: bodyWith({ image: 'debian:trixie' }) })
  assert.equal(patch.status, 400, patch.text)
  assert.equal((await ok<{ version: number }>(service, `GET /api/agents/${id}`)).version, version)
  for (const target of [service, virtual]) {
    const { text } = await send(target, 'GET /api/agents')
    assert.equal(text.match(/"name":"Wrong"/g)?.length ?? 0, target === service ? 1 : 0, text)
  }
})
