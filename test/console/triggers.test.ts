import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import { openConsole, startConsole } from '../support/console/browser.ts'
import { legacyScript, sendJson, startScriptedUpstream as startMcpServer } from '../support/mcp/scripted-upstream.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const findTicket = {
  name: 'find_ticket',
  description: 'Finds a ticket by its number',
  inputSchema: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] },
}

const upstream = await startScriptedUpstream()
after(() => upstream.stop())
const mcp = await startMcpServer(
  legacyScript(
    () => [findTicket],
    ({ body }, response) => {
      const { arguments: given } = body['params'] as { readonly arguments: { readonly number: number } }
      const text = `Ticket ${given.number}: the door squeaks`
      sendJson(response, { jsonrpc: '2.0', id: body['id'], result: { content: [{ type: 'text', text }] } })
    },
  ),
)
const service = await startConsole({
  config: JSON.stringify({
    model_list: [
      {
        model_name: 'scripted',
        params: { model: 'anthropic/scripted', api_base: upstream.url, api_key: 'sk-upstream' },
      },
    ],
    outbound: { allow: [new URL(upstream.url).host, new URL(mcp.url).host] },
  }),
})

const newAgent = async (name: string): Promise<Agent> =>
  (await send(service, 'POST /api/agents', { body: { name, owner_id: 'ada', model: 'scripted' } })).json<Agent>()

test('a webhook is set up, a test send lists its checks, a delivery appears in the log and is replayed', async t => {
  const { id } = await newAgent('Triage')
  const { page } = await openConsole(t, { service, path: '/console/webhooks' })
  await page.getByRole('button', { name: 'Set up webhook' }).first().click()
  await page.getByRole('combobox', { name: 'Agent that gets the deliveries' }).click()
  await page.getByRole('option', { name: 'Triage' }).click()
  await page.getByText('Generate secret', { exact: true }).click()
  await page.getByRole('button', { name: 'Save webhook' }).click()
  const dialog = page.getByRole('dialog')
  const secret = (await dialog.getByTestId('secret').textContent()) ?? ''
  await dialog.getByLabel('I have saved it').check()
  await dialog.getByRole('button', { name: 'Close', exact: true }).click()
  await page.getByText('as stored').waitFor()

  await page.getByRole('button', { name: 'Send test delivery' }).click()
  const result = page.getByRole('status', { name: 'Result of the test' })
  await result.getByText('a sender would be accepted').waitFor()
  for (const check of ['Agent', 'Token', 'Delivery id', 'Body'])
    await result.getByRole('listitem').filter({ hasText: check }).first().waitFor()
  await page.getByRole('link', { name: 'Show the deliveries of this agent' }).click()

  const delivered = await send({ url: service.url }, `POST /api/agents/${id}/webhook`, {
    headers: { authorization: `Bearer ${secret}`, 'x-request-id': 'order-7' },
    body: { type: 'ticket.created', ticket: { id: 7 } },
  })
  assert.ok(delivered.status < 300, delivered.text)
  const log = page.getByRole('table', { name: 'Deliveries' })
  // The open page shows it by itself.
  await log.getByRole('row').filter({ hasText: 'order-7' }).click({ timeout: 60_000 })
  const panel = page.getByRole('complementary', { name: 'Delivery' })
  await panel.getByText('accepted').first().waitFor()
  await panel.getByText('ticket.created').first().waitFor()
  await panel.getByRole('button', { name: 'Replay delivery' }).click()
  await panel.getByRole('link', { name: 'Show the first delivery' }).waitFor()
  await panel.getByRole('link', { name: 'Open session' }).click()
  await page.getByTestId('transcript').getByText('ok', { exact: true }).waitFor()
  assert.ok(!(await page.content()).includes(secret))
})

test('a schedule is created with its next runs shown, runs now, and its session opens', async t => {
  await newAgent('Reporter')
  const { page } = await openConsole(t, { service, path: '/console/schedules' })
  await page.getByRole('button', { name: 'Create schedule' }).first().click()
  const form = page.getByRole('dialog', { name: 'Create schedule' })
  await form.getByLabel('Name').fill('Morning report')
  await form.getByRole('combobox', { name: 'Agent' }).click()
  await page.getByRole('option', { name: 'Reporter' }).click()
  await form.getByLabel('Prompt').fill(saying({ text: 'The report is ready.' }))
  await form.getByLabel('Cron expression').fill('0 9 * * MON')
  await form.getByRole('listitem').nth(4).waitFor()
  assert.equal(await form.getByRole('listitem').count(), 5)
  await form.getByRole('button', { name: 'Create schedule' }).click()

  const panel = page.getByRole('complementary', { name: 'Morning report' })
  await panel.getByRole('button', { name: 'Run now' }).click()
  await panel.getByRole('status').getByRole('link', { name: 'Open the session' }).click()
  await page.getByTestId('transcript').getByText('The report is ready.', { exact: true }).waitFor()
})

test('an MCP server is registered, its tool called from a form, and the call is in the log', async t => {
  const { page } = await openConsole(t, { service, path: '/console/mcp' })
  await page.getByRole('button', { name: 'Register server' }).first().click()
  const form = page.getByRole('dialog', { name: 'Register MCP server' })
  await form.getByLabel('Name').fill('tickets')
  await form.getByLabel('Address').fill(`${mcp.url}/mcp`)
  await form.getByRole('button', { name: 'Register server' }).click()

  const panel = page.getByRole('complementary', { name: 'tickets' })
  await panel.getByRole('button', { name: 'Test server' }).click()
  await panel.getByText('test passed').waitFor()
  await panel.getByRole('button', { name: 'Call tool find_ticket' }).click()
  const dialog = page.getByRole('dialog', { name: 'Call find_ticket of tickets' })
  await dialog.getByLabel('number').fill('7')
  await dialog.getByRole('button', { name: 'Call tool' }).click()
  const result = dialog.getByRole('region', { name: 'Result' })
  await result.getByText('completed').waitFor()
  await result.getByText('Ticket 7: the door squeaks').waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })

  // Calls are stored in batches.
  await eventually(async () => (await send(service, 'GET /v1/mcp/calls?tool=find_ticket')).text.includes('completed'))
  await panel.getByRole('link', { name: 'Show the call log' }).click()
  const call = page.getByRole('table', { name: 'Calls of tools' }).getByRole('row').filter({ hasText: 'find_ticket' })
  await call.getByText('completed').waitFor()
  await call.getByText('console or REST').waitFor()
})
