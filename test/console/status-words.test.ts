import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openConsole, startConsole } from '../support/console/browser.ts'
import { eventually } from '../support/service/eventually.ts'
import { sendOk } from '../support/service/send.ts'
import { bash, configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
after(() => upstream.stop())
const service = await startConsole({
  config: configFor(upstream, ['scripted'], { input_cost_per_token: 0.001, output_cost_per_token: 0.001 }),
})

const ok = <Answer>(line: string, body: object): Promise<Answer> => sendOk(service, line, { body })
const agentWith = async (policy: string): Promise<string> => {
  const tools = [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: policy } } }]
  return (await ok<{ id: string }>('POST /api/agents', { name: 'Scribe', owner_id: 'ada', model: 'scripted', tools }))
    .id
}
const free = await agentWith('always_allow')
const careful = await agentWith('always_ask')
const sessionWith = async (prompt: string, agent_id = free): Promise<string> =>
  (await ok<{ id: string }>('POST /session', { agent_id, prompt })).id

/** How a session gets into each state whose time counts. */
const counting: Readonly<Record<string, () => Promise<string>>> = {
  'model thinking': () => sessionWith(saying({ pauseAtFrame: 1, text: 'late' })),
  'tool running': () => sessionWith(saying(bash('sleep 300'), { text: 'Done' })),
  'waiting for approval': () => sessionWith(saying(bash('date'), { text: 'Done' }), careful),
  retrying: () => sessionWith(saying({ status: 529, headers: { 'retry-after': '40' } })),
  'paused: budget': async () => {
    const { id } = await ok<{ id: string }>('POST /session', { agent_id: free })
    await ok(`PUT /api/budgets/session/${id}`, { max_budget: 0.001 })
    await ok(`POST /session/${id}/prompt_async`, {
      model: { modelID: 'scripted' },
      parts: [{ type: 'text', text: 'Hello' }],
    })
    return id
  },
}

/** States that have ended. */
const ended: Readonly<Record<string, () => Promise<string>>> = {
  idle: () => sessionWith(saying({ text: 'Hello' })),
  failed: () => sessionWith(saying({ status: 400 })),
  stopped: async () => {
    const id = await sessionWith(saying(bash('sleep 300'), { text: 'Done' }))
    await eventually(
      async () => (await sendOk<{ status: string }>(service, `GET /v1/sessions/${id}`)).status === 'running',
    )
    await ok(`POST /session/${id}/interrupt`, {})
    return id
  },
}

const statusOf = (page: Page) => page.getByTestId('status')

for (const [word, start] of Object.entries(counting))
  test(`U06: "${word}" is shown with a time that counts, also after a reload`, async t => {
    const session = await start()
    const { page } = await openConsole(t, { service, path: `/console/sessions/${session}` })
    await statusOf(page).getByText(word).first().waitFor()
    await page.reload()
    await statusOf(page).getByText(word).first().waitFor()
    const before = await statusOf(page).textContent()
    await eventually(async () => (await statusOf(page).textContent()) !== before, { what: 'a change of the time' })
    assert.match((await statusOf(page).textContent()) ?? '', /\d/)
    upstream.release()
  })

for (const [word, start] of Object.entries(ended))
  test(`U06: "${word}" is shown, also after a reload`, async t => {
    const session = await start()
    const { page } = await openConsole(t, { service, path: `/console/sessions/${session}` })
    await statusOf(page).getByText(word).first().waitFor()
    await page.reload()
    await statusOf(page).getByText(word).first().waitFor()
  })
