import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openConsole, startConsole } from '../support/console/browser.ts'
import { startCuttableProxy } from '../support/console/cuttable-proxy.ts'
import { sendOk } from '../support/service/send.ts'
import { release, untilReleased } from '../support/sessions/released-command.ts'
import { bash, configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
after(() => upstream.stop())
const service = await startConsole({ config: configFor(upstream), key: null })

const post = <Answer>(path: string, body: object): Promise<Answer> => sendOk(service, `POST ${path}`, { body })

const toolset = [{ type: 'agent_toolset_20260401' }]
const askFirst = [
  { type: 'agent_toolset_20260401', configs: [{ name: 'bash', permission_policy: { type: 'always_ask' } }] },
]

async function newAgent(tools: readonly object[] = toolset): Promise<string> {
  const { id } = await post<{ id: string }>('/api/agents', {
    name: 'Scribe',
    owner_id: 'ada',
    model: 'scripted',
    tools,
  })
  return id
}

/** Starts a session with a prompt and returns its id. */
async function newSession(prompt: string, agent?: string): Promise<string> {
  const agent_id = agent ?? (await newAgent())
  return (await post<{ id: string }>('/session', { agent_id, prompt })).id
}

const pathOf = (session: string): string => `/console/sessions/${session}`
const send = async (page: Page, text: string): Promise<void> => {
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await page.keyboard.press('Control+Enter')
}

test('a run is shown while it happens: deltas, tool calls and their results, and the end', async t => {
  const session = await newSession('Hello')
  const { page } = await openConsole(t, { service, path: pathOf(session) })
  await page.getByText('done', { exact: false }).first().waitFor()
  await send(
    page,
    saying(
      { text: 'I look first.', tool_calls: [{ name: 'bash', input: { command: 'echo one two' } }] },
      { text: 'All is well, as pieces.', pauseAtFrame: 4 },
    ),
  )
  await page.getByText('I look first.', { exact: true }).waitFor()
  await page.getByTestId('transcript').getByText('live', { exact: true }).waitFor()
  upstream.release()
  await page.getByTestId('transcript').getByText('All is well, as pieces.', { exact: true }).waitFor()
  await page.getByTestId('transcript').getByRole('button', { name: /bash/, expanded: false }).click()
  await page.getByText('one two', { exact: true }).first().waitFor()
})

test('a run is interrupted after a question, and the log says what was cut off', async t => {
  const session = await newSession(saying({ tool_calls: [{ name: 'bash', input: { command: 'sleep 300' } }] }))
  const { page } = await openConsole(t, { service, path: pathOf(session) })
  await page.getByText('tool running').first().waitFor()
  await page.getByRole('button', { name: 'Interrupt' }).first().click()
  await page.getByRole('dialog').getByRole('button', { name: 'Interrupt run' }).click()
  await page.getByText('stopped').first().waitFor()
})

test('a message in mode steer joins the run; one in mode enqueue waits above the field and can be withdrawn', async t => {
  const session = await newSession(saying(bash(untilReleased), { text: 'Both are read.' }))
  const { page } = await openConsole(t, { service, path: pathOf(session) })
  await page.getByText('tool running').first().waitFor()
  await send(page, 'Wait behind it')
  const waiting = page.getByLabel('Waiting prompts')
  await waiting.getByText('Wait behind it').waitFor()
  await waiting
    .getByRole('button', { name: /withdraw/i })
    .first()
    .click()
  await waiting.getByText('Wait behind it').waitFor({ state: 'detached' })
  await page.getByRole('combobox', { name: 'When a run is in progress' }).click()
  await page.getByRole('option', { name: /steer/i }).click()
  await send(page, 'Also look here')
  await page.getByText('Also look here').first().waitFor()
  await release(service, session)
  await page.getByTestId('transcript').getByText('Both are read.', { exact: true }).waitFor()
})

test('S37: an approval shows the exact arguments; with edited ones the call runs with these', async t => {
  const session = await newSession(saying(bash('echo first'), { text: 'It ran.' }), await newAgent(askFirst))
  const { page } = await openConsole(t, { service, path: pathOf(session) })
  const card = page.getByRole('region', { name: 'Approval of bash' })
  await card.getByText('echo first').waitFor()
  await card.getByRole('button', { name: 'Edit arguments' }).click()
  await card.getByLabel('Arguments as JSON').fill('{"command": "echo second"}')
  await card.locator('button:not([aria-disabled="true"])', { hasText: 'Approve with changes' }).click()
  await page.getByTestId('transcript').getByText('It ran.', { exact: true }).waitFor()
  const events = await fetch(`${service.url}/v1/sessions/${session}/events?limit=100`).then(answer => answer.text())
  assert.match(events, /second/)
})

test('a session is forked before a message', async t => {
  const session = await newSession(saying({ text: 'Answer one.' }))
  const { page } = await openConsole(t, { service, path: pathOf(session) })
  await page.getByText('Answer one.', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Fork session' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Fork session' }).click()
  await page.waitForURL(url => url.pathname.includes('/console/sessions/') && !url.pathname.endsWith(session))
  await page.getByText('Answer one.', { exact: true }).waitFor()
})

test('a step offers a link to it, and a menu that opens at the first click and by keyboard', async t => {
  const session = await newSession(saying({ text: 'Answer one.' }))
  const { page } = await openConsole(t, { service, path: pathOf(session) })
  const row = page.getByTestId('transcript').getByRole('listitem').first()
  await row.hover()
  await row.getByRole('button', { name: 'Copy link' }).waitFor()
  const actions = row.getByRole('button', { name: 'Actions of this step' })
  await actions.click()
  await page.getByRole('menuitem', { name: 'Fork from here' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('menuitem', { name: 'Fork from here' }).waitFor({ state: 'detached' })
  await actions.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Compare session' }).click()
  await page.waitForURL(url => url.pathname === '/console/compare' && url.search.includes(session))
})

test('U03: a cut network shows within 3 s, and no event is lost or doubled after it', async t => {
  const session = await newSession(saying({ text: 'Before the cut.' }))
  const proxy = await startCuttableProxy(t, service.url)
  const { page } = await openConsole(t, { service, url: proxy.url, path: pathOf(session), isFaulty: true })
  await page.getByText('Before the cut.', { exact: true }).waitFor()
  await page.locator('[data-testid=live][data-state=live]').waitFor()
  proxy.cut()
  await page.getByTestId('connection-lost').waitFor()
  await post(`/session/${session}/message`, { parts: [{ type: 'text', text: saying({ text: 'During the cut.' }) }] })
  proxy.restore()
  // The pause before the next try doubles for as long as the cut lasts.
  await page.getByTestId('caught-up').waitFor({ timeout: 60_000 })
  const transcript = page.getByTestId('transcript')
  await transcript.getByText('During the cut.', { exact: true }).waitFor()
  assert.match((await page.getByTestId('caught-up').textContent()) ?? '', /0 missed/)
  assert.equal(await transcript.getByText('Before the cut.', { exact: true }).count(), 1)
  assert.equal(await transcript.getByText('During the cut.', { exact: true }).count(), 1)
})

test('U03: a connection that is open but silent counts as lost after 25 s, and nothing is lost after it', async t => {
  const session = await newSession(saying({ text: 'Before the silence.' }))
  const proxy = await startCuttableProxy(t, service.url)
  const { page } = await openConsole(t, { service, url: proxy.url, path: pathOf(session), isFaulty: true })
  const transcript = page.getByTestId('transcript')
  await transcript.getByText('Before the silence.', { exact: true }).waitFor()
  proxy.freeze()
  await post(`/session/${session}/message`, { parts: [{ type: 'text', text: saying({ text: 'Meanwhile.' }) }] })
  await page.getByTestId('connection-lost').waitFor({ timeout: 60_000 })
  proxy.restore()
  await transcript.getByText('Meanwhile.', { exact: true }).waitFor({ timeout: 60_000 })
  assert.equal(await transcript.getByText('Meanwhile.', { exact: true }).count(), 1)
})
