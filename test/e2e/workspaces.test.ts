import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { type Service, startService } from '../support/service/service.ts'
import { bash, configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
const stops: (() => Promise<unknown>)[] = []
after(async () => {
  for (const stop of stops) await stop()
  await upstream.stop()
})

/** Replicas on one database, each with its own data folder. */
async function replicas(): Promise<() => Promise<Service>> {
  const { url: databaseUrl } = await freshDatabase()
  return async () => {
    const service = await startService({ databaseUrl, config: configFor(upstream) })
    stops.push(service.stop)
    return service
  }
}

async function begin(service: Service, prompt: string): Promise<string> {
  const { id } = (await send(service, 'POST /session', { body: {} })).json<Session>()
  await speak(service, id, prompt)
  return id
}

async function speak(service: Service, id: string, prompt: string): Promise<void> {
  const body = { model: { modelID: 'scripted' }, parts: [{ type: 'text', text: prompt }] }
  const { status, text } = await send(service, `POST /session/${id}/prompt_async`, { body })
  assert.ok(status < 300, text)
}

async function logOf(service: Service, id: string): Promise<SessionEvent[]> {
  const path = `GET /v1/sessions/${id}/events?limit=1000`
  return (await send(service, path)).json<{ data: SessionEvent[] }>().data
}

const ends = (service: Service, id: string, times: number): Promise<SessionEvent[]> =>
  eventually(async () => {
    const log = await logOf(service, id)
    return log.filter(({ type }) => type === 'session.status_idle').length === times && log
  })

/** Output of the tools of a session, in order. */
const resultsOf = (log: readonly SessionEvent[]): string[] =>
  log
    .filter(({ type }) => type === 'agent.tool_result')
    .map(event => ((event.content ?? []) as { readonly text?: string }[]).map(({ text = '' }) => text).join(''))

const lost = ['session.workspace_restored', 'session.warning']

test('a session whose replica was killed continues at one with another disk, with the files of its last step', async () => {
  const start = await replicas()
  const one = await start()
  const id = await begin(
    one,
    saying(
      bash('mkdir src && echo first > src/one.txt && chmod 700 src/one.txt && ln -s src/one.txt link'),
      bash('echo half > half.txt; touch started; sleep 120'),
      bash('cat link; stat -c %a src/one.txt; ls'),
      { text: 'Done.' },
    ),
  )
  await eventually(() => readFile(join(one.dataDir, 'workspaces', id, 'started')).catch(() => undefined))
  const other = await start()
  await one.kill()
  const log = await ends(other, id, 1)
  const [, cutOff, seen] = resultsOf(log)
  assert.match(cutOff ?? '', /outcome unknown/)
  assert.match(seen ?? '', /^first\n700\nlink\nsrc$/, 'half.txt belongs to a call that has no result')
  const types = log.map(({ type }) => type)
  assert.deepEqual(
    types.filter(type => lost.includes(type)),
    ['session.workspace_restored'],
  )
  const restored = log.find(({ type }) => type === 'session.workspace_restored')
  const step = log.find(({ seq }) => seq === restored?.['checkpoint_seq'])
  assert.equal(step?.type, 'agent.tool_result', 'the log states as of which event')
})

test('a session moves from disk to disk, and each time finds what was written last', async () => {
  const start = await replicas()
  const one = await start()
  const id = await begin(
    one,
    saying(bash('echo a >> kept.txt; mkdir node_modules; echo x > node_modules/x'), { text: 'ok' }),
  )
  await ends(one, id, 1)
  await one.stop()
  const other = await start()
  await speak(other, id, saying(bash('echo b >> kept.txt; cat kept.txt; ls -A'), { text: 'ok' }))
  assert.equal(resultsOf(await ends(other, id, 2))[1]?.trim(), 'a\nb\nkept.txt')
  assert.equal((await send(other, 'GET /health/ready')).text, '{"status":"ok"}')
  await other.stop()
  const third = await start()
  await speak(third, id, saying(bash('cat kept.txt'), { text: 'ok' }))
  assert.equal(resultsOf(await ends(third, id, 3))[2]?.trim(), 'a\nb')
})
