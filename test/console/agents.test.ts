import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Agent } from '../../src/contract/agents.ts'
import type { Memory } from '../../src/contract/memories.ts'
import { unzip, zipOf } from '../../src/server/platform/zip.ts'
import { openConsole, startConsole } from '../support/console/browser.ts'
import { send } from '../support/service/send.ts'
import { configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
after(() => upstream.stop())
/** Agents of templates have a budget, which needs a price. */
const cheap = { input_cost_per_token: 0, output_cost_per_token: 0.000001 }
const service = await startConsole({ config: configFor(upstream, ['scripted'], cheap) })

const newAgent = async (name: string): Promise<Agent> => {
  const body = { name, owner_id: 'ada', model: 'scripted', system: 'Write short notes.' }
  return (await send(service, 'POST /api/agents', { body })).json<Agent>()
}
const agentNow = async (id: string): Promise<Agent> => (await send(service, `GET /api/agents/${id}`)).json<Agent>()

/** Opens the row of a list whose text this is. */
const openRow = (page: Page, table: string, text: string) =>
  page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text }).click()

test('an agent is created from a template, its prompt changed with a note, rolled back, and tried', async t => {
  const { page } = await openConsole(t, { service, path: '/console/agents' })
  await page.getByRole('button', { name: 'Create agent' }).first().click()
  const form = page.getByRole('dialog', { name: 'Create agent' })
  await form.getByRole('radio', { name: /Reviewer with approvals/ }).click()
  await form.getByLabel('Name').fill('Nightly reviewer')
  await form.getByLabel('Owner').fill('ada')
  await form.getByRole('button', { name: 'Create agent' }).click()
  await page.getByRole('heading', { level: 1, name: 'Nightly reviewer' }).waitFor()
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  const { system, tools, version } = await agentNow(id)
  assert.match(JSON.stringify(tools), /always_ask/)

  await page.getByRole('textbox', { name: 'Prompt' }).fill(`${system}\n- Answer in Danish.`)
  await page.getByRole('button', { name: 'Review and save' }).click()
  const save = page.getByRole('dialog', { name: `Save as version ${version + 1}` })
  await save.getByText('- Answer in Danish.').waitFor()
  await save.getByLabel('Note').fill('The readers are Danish')
  await save.getByRole('button', { name: 'Save version' }).click()
  await page.getByLabel('Prompt as the model gets it').getByText('Answer in Danish').waitFor()
  assert.match((await agentNow(id)).system ?? '', /Danish/)

  await page.getByRole('navigation', { name: 'Parts of the agent' }).getByRole('link', { name: 'Versions' }).click()
  await page.getByRole('list', { name: 'Versions' }).getByText('The readers are Danish').waitFor()
  await page.getByRole('button', { name: `Roll back to version ${version}` }).click()
  const back = page.getByRole('dialog', { name: `Roll back to version ${version}?` })
  await back.getByText('- Answer in Danish.').waitFor()
  await back.getByRole('button', { name: 'Roll back' }).click()
  await page
    .getByRole('list', { name: 'Versions' })
    .getByText(`v${version + 2} · current`)
    .waitFor()
  assert.equal((await agentNow(id)).system, system)

  await page.getByRole('button', { name: 'Try agent' }).click()
  const panel = page.getByRole('complementary', { name: 'Try Nightly reviewer' })
  await panel.getByLabel('First prompt').fill(saying({ text: 'Nothing to criticise.' }))
  await panel.getByRole('button', { name: 'Start session' }).click()
  await panel.getByText('Nothing to criticise.', { exact: true }).waitFor()
  await panel.getByLabel('Next prompt').fill(saying({ status: 400, error: 'this prompt is refused' }))
  await panel.getByRole('button', { name: 'Send prompt' }).click()
  await panel
    .getByRole('alert')
    .getByText(/this prompt is refused/)
    .waitFor()
  await panel.getByRole('link', { name: 'Open session' }).click()
  await page.getByTestId('transcript').getByText('Nothing to criticise.', { exact: true }).waitFor()
})

test('a skill is created, attached to an agent and edited, and the copy of the agent updated', async t => {
  const { id } = await newAgent('Writer')
  const { page } = await openConsole(t, { service, path: '/console/skills' })
  await page.getByRole('button', { name: 'Create skill' }).first().click()
  const form = page.getByRole('complementary', { name: 'Create skill' })
  await form.getByLabel('Name').fill('House style')
  await form.getByRole('textbox', { name: 'Instructions' }).fill('Use short words.')
  await form.getByRole('button', { name: 'Create skill' }).click()

  const panel = page.getByRole('complementary', { name: 'House style' })
  await panel.getByRole('combobox', { name: 'Attach to an agent' }).click()
  await page.getByRole('option', { name: 'Writer' }).click()
  await panel.getByText('as the library').waitFor()
  assert.match((await agentNow(id)).system ?? '', /Use short words\./)

  await panel.getByRole('button', { name: 'Edit skill' }).click()
  await panel.getByRole('textbox', { name: 'Instructions' }).fill('Use short words and few of them.')
  await panel.getByRole('button', { name: 'Save skill' }).click()
  await panel.getByText('older than the library').waitFor()
  assert.doesNotMatch((await agentNow(id)).system ?? '', /few of them/)

  await panel.getByRole('button', { name: 'Update copy…' }).click()
  const update = page.getByRole('dialog', { name: 'Update the copy: Writer' })
  await update.getByText('Use short words and few of them.').waitFor()
  await update.getByRole('button', { name: 'Update copy' }).click()
  await panel.getByText('as the library').waitFor()
  assert.match((await agentNow(id)).system ?? '', /Use short words and few of them\./)
})

test('a skill is imported from a zip archive and downloaded with its files', async t => {
  const { page } = await openConsole(t, { service, path: '/console/skills?create=1' })
  const files = [
    { path: 'packed/SKILL.md', content: Buffer.from('---\nname: packed\ndescription: d\n---\nRun a.sh.\n') },
    { path: 'packed/a.sh', content: Buffer.from('true') },
  ]
  const opened = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Import SKILL.md or zip' }).click()
  const buffer = await zipOf(files, new Date())
  await (await opened).setFiles({ name: 'packed.zip', mimeType: 'application/zip', buffer })
  const panel = page.getByRole('complementary', { name: 'packed' })
  await panel.getByText('Run a.sh.').waitFor()
  const saved = page.waitForEvent('download')
  await panel.getByRole('button', { name: 'Download' }).click()
  const download = await saved
  assert.equal(download.suggestedFilename(), 'packed.zip')
  const bytes = await readFile(await download.path())
  assert.deepEqual(await unzip(bytes, { maxFiles: 10, maxBytes: 10_000 }), files)
})

test('a memory is added, edited and disabled', async t => {
  const { id } = await newAgent('Keeper')
  const memories = async () =>
    (await send(service, `GET /api/v1/managed_agents/agents/${id}/memory`)).json<readonly Memory[]>()
  const { page } = await openConsole(t, { service, path: `/console/memories?agent=${id}` })
  await page.getByRole('button', { name: 'Add memory' }).first().click()
  const form = page.getByRole('complementary', { name: 'Add memory' })
  await form.getByLabel('Text').fill('Invoices go to Grace.')
  await form.getByRole('button', { name: 'Add memory' }).click()
  await openRow(page, 'Memories', 'Invoices go to Grace.')

  const panel = page.getByRole('complementary', { name: 'Memory' })
  await panel.getByRole('button', { name: 'Edit memory' }).click()
  await panel.getByLabel('Text').fill('Invoices go to Ada.')
  await panel.getByRole('button', { name: 'Save memory' }).click()
  await page.getByRole('table', { name: 'Memories' }).getByText('Invoices go to Ada.').waitFor()

  await panel.getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('table', { name: 'Memories' }).getByText('disabled').waitFor()
  assert.deepEqual(
    (await memories()).map(({ text, disabled }) => ({ text, disabled })),
    [{ text: 'Invoices go to Ada.', disabled: true }],
  )
})
