import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, test } from 'node:test'
import type { SessionEvent } from '../../src/contract/events.ts'
import { openConsole, startConsole } from '../support/console/browser.ts'
import { freshDatabase } from '../support/service/database.ts'
import { send } from '../support/service/send.ts'
import { type Service, temporaryDataDir } from '../support/service/service.ts'
import { markerScript } from '../support/upstream/marker-script.ts'
import { configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const running: Service[] = []
after(async () => {
  await Promise.all(running.map(service => service.stop()))
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
})
/** The second answer stops in its middle, until the server that waits for it is killed. */
const upstream = await startScriptedUpstream({
  script: (request, index) => ({ ...markerScript(request), ...(index === 1 && { pauseAtFrame: 4 }) }),
})
after(() => upstream.stop())
const { url: databaseUrl } = await freshDatabase()
const dataDir = await temporaryDataDir()

async function start(port = 0): Promise<Service> {
  const service = await startConsole({ config: configFor(upstream), databaseUrl, dataDir, port })
  running.push(service)
  return service
}

/** What the server stores of a session, in its order. */
const eventsOf = async (service: Service, session: string): Promise<readonly SessionEvent[]> =>
  (await send(service, `GET /v1/sessions/${session}/events?limit=1000`)).json<{ data: readonly SessionEvent[] }>().data

test('a server is killed during a run and started again: the open page resumes by itself, no event is lost or doubled', async t => {
  const first = await start()
  const agent = { name: 'Scribe', owner_id: 'ada', model: 'scripted', tools: [{ type: 'agent_toolset_20260401' }] }
  const { id: agent_id } = (await send(first, 'POST /api/agents', { body: agent })).json<{ id: string }>()
  const prompt = saying(
    { text: 'I look first.', tool_calls: [{ name: 'bash', input: { command: 'echo one two' } }] },
    { text: 'All is well, as pieces.' },
  )
  const { id: session } = (await send(first, 'POST /session', { body: { agent_id } })).json<{ id: string }>()
  const { page } = await openConsole(t, { service: first, path: `/console/sessions/${session}`, isFaulty: true })
  await page.evaluate('window.isSameLoad = true')
  const transcript = page.getByTestId('transcript')
  await page.getByRole('textbox', { name: 'Message' }).fill(prompt)
  await page.keyboard.press('Control+Enter')
  await transcript.getByText('I look first.', { exact: true }).waitFor()
  await upstream.received(2)
  await transcript.getByText('live', { exact: true }).waitFor()
  const before = await eventsOf(first, session)

  await first.kill()
  await page.getByTestId('connection-lost').waitFor()
  const second = await start(Number(new URL(first.url).port))
  assert.equal(second.url, first.url)
  await page.getByTestId('connection-lost').waitFor({ state: 'detached', timeout: 60_000 })
  // The run resumes with the model call that the kill cut off.
  await transcript.getByText('All is well, as pieces.', { exact: true }).waitFor({ timeout: 60_000 })
  await page.getByTestId('status').getByText('idle').waitFor()
  await page
    .getByText(/cannot reach the service/)
    .first()
    .waitFor({ state: 'detached', timeout: 60_000 })

  assert.equal(upstream.requests.length, 3)
  for (const text of ['I look first.', 'All is well, as pieces.'])
    assert.equal(await transcript.getByText(text, { exact: true }).count(), 1, text)
  assert.equal(await transcript.getByRole('button', { name: /bash/ }).count(), 1)
  assert.equal(await page.evaluate('window.isSameLoad'), true)
  const events = await eventsOf(second, session)
  assert.deepEqual(events.slice(0, before.length), before)
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, at) => at + 1),
  )
})
