import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Experiment } from '../../src/contract/experiments.ts'
import { openConsole, startConsole } from '../support/console/browser.ts'
import { eventually } from '../support/service/eventually.ts'
import { sendOk } from '../support/service/send.ts'
import { evaluationScript } from '../support/sessions/evaluation-script.ts'
import { configFor } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream({ script: evaluationScript })
after(() => upstream.stop())
const prices = { input_cost_per_token: 0.000_01, output_cost_per_token: 0.000_05 }
const service = await startConsole({ config: configFor(upstream, ['scripted'], prices) })
const ok = <T>(line: string, body?: unknown): Promise<T> => sendOk<T>(service, line, { body })

const agent = await ok<Agent>('POST /api/agents', { name: 'Scribe', owner_id: 'team', system: 'version 1' })
await ok(`PATCH /api/agents/${agent.id}`, { name: 'Scribe', owner_id: 'team', system: 'version 2' })
const { id: dataset_id } = await ok<{ id: string }>('POST /api/datasets', { name: 'Words' })
const cases = ['alpha', 'beta', 'gamma'].map(word => ({
  name: word,
  prompts: [word],
  graders: [{ type: 'contains', name: 'finds its token', value: `token-${word}` }],
}))
await ok(`POST /api/datasets/${dataset_id}/cases`, { cases })
const run = (agent_version: number) =>
  ok<Experiment>('POST /api/experiments', { dataset_id, agent_id: agent.id, agent_version, max_budget_usd: 20 })
const first = await run(1)
await eventually(async () => (await ok<Experiment>(`GET /api/experiments/${first.id}`)).ended_at !== null, {
  withinMs: 120_000,
})

test('an experiment is started, watched to its end, and compared with the one before', async t => {
  const { page } = await openConsole(t, { service, path: '/console/evaluations' })
  const list = page.getByRole('table', { name: 'Experiments' })
  await list.getByRole('row').filter({ hasText: 'Scribe v1' }).getByText('3/3').waitFor()

  await page.getByRole('button', { name: 'Run experiment' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('combobox', { name: 'Dataset' }).click()
  await page.getByRole('option', { name: 'Words (3)' }).click()
  await dialog.getByRole('combobox', { name: 'Agent' }).click()
  await page.getByRole('option', { name: 'Scribe' }).click()
  await dialog.getByRole('button', { name: 'Run experiment' }).click()
  const results = page.getByRole('table', { name: 'Cases' })
  await results.getByRole('row').filter({ hasText: 'beta' }).getByText('failed').waitFor({ timeout: 120_000 })
  await page.getByText('67 %').waitFor({ timeout: 120_000 })

  await results.getByRole('row').filter({ hasText: 'beta' }).click()
  const panel = page.getByRole('complementary', { name: 'beta' })
  await panel.getByText('finds its token').waitFor()
  await panel.getByText('the answer does not contain the value').waitFor()
  await page.keyboard.press('Escape')

  await page.getByRole('combobox', { name: 'Compare with' }).click()
  await page.getByRole('option').first().click()
  await page.getByRole('heading', { name: '1 worse, 2 the same' }).waitFor()
  const compared = page.getByRole('table', { name: 'Cases of both experiments' })
  const [, worst] = await compared.getByRole('row').allInnerTexts()
  assert.match(worst ?? '', /beta\s+worse\s+passed\s+failed/)
  await page.getByRole('region', { name: 'system' }).getByText('version 2').waitFor()

  await page.getByRole('button', { name: 'Delete experiment' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete experiment' }).click()
  await list.getByRole('row').filter({ hasText: 'Scribe v1' }).waitFor()
  await list.getByRole('row').filter({ hasText: 'Scribe v2' }).waitFor({ state: 'detached' })
})
