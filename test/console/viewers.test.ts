import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { openConsole } from '../support/console/browser.ts'
import { addChangeable, addressesOf } from '../support/console/changeable-objects.ts'
import { pagesOfMenu, visit } from '../support/console/console-pages.ts'
import { controlsOf } from '../support/console/controls.ts'
import { fill, startEmptyService } from '../support/console/full-service.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { sendOk } from '../support/service/send.ts'

const full = await fill(await startEmptyService())
const { service } = full
const member = await holderOf(service, { label: 'Member', owner_id: 'ada' })
const more = await addChangeable(full, member)
const addresses = addressesOf(full, more)
const { id: user_id } = await sendOk<{ id: string }>(service, 'POST /api/users', {
  body: { name: 'Vera', role: 'viewer', owner_id: 'ada' },
})
const viewer = await holderOf(service, { label: 'Viewer', user_id })

/** Every control that a viewer may have: each only reads, or changes what this browser shows. */
const reading = [
  // The frame.
  /^(Account|Theme: auto|Search or jump to Ctrl K)$/,
  // Copies, files and exports.
  /^(Copy .*|Download|Download all files|Export .*|Save CSV of .*)$/,
  // What is shown.
  /^(Close panel|Actions of the agent|More actions|Compare session|Swap sessions|Preview prompt|Refresh figures)$/,
  /^(Show (all webhooks|all [\d,]+ (lines|rows)|lines|table of .*)|Show or hide the inspector|Show the longest call of .*|Fit to width|Zoom in|Zoom out)$/,
  // Prompts and calls in the timeline of a session, and files of its workspace.
  /^(Fix the flaky login test|Tidy up the old releases|Summarise the incident|\[\[.*page_person.*)$|^\w+ · |^clock\.ts/,
  // Filters, searches, choices of what is compared, and the selection for an export.
  /^field (Agent|Type|Tag|Name|Name of the tool|Delivery id|Request id|Session [AB]|Version [AB]|Search .*|Select .*)$/,
  /^field (Minimum cost in \$|Status, such as 5xx|Time zone of days|Compare (from|to) version \d|Event type)$/,
  /^field (Two sessions|Two versions of an agent|Endpoints|Replies to senders|Form|JSON|Workspace|Artifacts|Changes)$/,
  /^field (Preview|Source|First token|Last token|By (model|agent|key))$|^unnamed in Session [AB]$/,
  // Pages with filters, tabs and open objects.
  /^link \/(docs|console\/(?!playground)[\w/]+)?(\?((tab|open|agent|server|event|preview|as|a|b|of|case|view|range|zone|model)=[^&#]*&?)+)?(#[\w/]+)?$/,
]

/** Collects the requests of a page that could change something, and those that failed, from now on. */
function watchRequests(page: Page): readonly string[] {
  const found: string[] = []
  page.on('request', request => {
    if (request.method() !== 'GET') found.push(`${request.method()} ${request.url()}`)
  })
  page.on('response', response => {
    if (response.status() >= 400) found.push(`${response.status()} ${response.url()}`)
  })
  return found
}

/** Visits addresses; returns the controls there that do not only read. */
async function changingControls(page: Page, pages: readonly (readonly [name: string, path: string])[]) {
  const found: string[] = []
  for (const [name, path] of pages) {
    await visit(page, service.url, { path })
    const controls = await controlsOf(page)
    found.push(
      ...controls.filter(control => !reading.some(each => each.test(control))).map(control => `${name}: ${control}`),
    )
  }
  return found
}

// Several tests: all pages take longer than one test may.
const pagesOfTest = 10
for (let from = 0; from < Object.keys(addresses).length; from += pagesOfTest) {
  const some = Object.entries(addresses).slice(from, from + pagesOfTest)
  const names = some.map(([name]) => name)
  test(`pages from "${names[0]}" to "${names.at(-1)}" give a viewer no control that changes something`, async t => {
    const { page } = await openConsole(t, { service, key: viewer.key ?? '', isReducedMotion: true })
    const requests = watchRequests(page)
    assert.deepEqual(await changingControls(page, some), [])
    assert.deepEqual(requests, [])
  })
}

test('pages without objects give a viewer no control that changes something, and no first steps', async t => {
  const { key = '' } = await holderOf(service, { role: 'viewer', owner_id: 'grace' })
  const { page } = await openConsole(t, { service, key, isReducedMotion: true })
  const requests = watchRequests(page)
  const pages = (await pagesOfMenu(page)).map(({ name, path }) => [name, path] as const)
  assert.ok(!pages.some(([name]) => name === 'playground'))
  assert.deepEqual(await changingControls(page, pages), [])
  await visit(page, service.url, { path: '/' })
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  assert.deepEqual(requests, [])
})

/** Controls that change something, by address. */
const changing: Readonly<Record<string, readonly string[]>> = {
  overview: ['Approve call', 'Deny call', 'Stop session'],
  'sessions, open': ['Start session'],
  session: ['Change title', 'Compact conversation', 'Delete session', 'Fork from here', 'Fork session', 'Send message'],
  'session, waiting': ['Approve call', 'Deny call', 'Edit arguments', 'Interrupt run'],
  'session, custom tool': ['Send result', 'Withdraw prompt', 'field Message', 'field Result'],
  compare: ['Re-run prompt of A'],
  'agents, open': ['Archive agent…', 'Clone agent…', 'Create agent', 'Delete agent…', 'Import agent', 'Pause agent'],
  'agent, prompt': ['Try agent', 'field Description', 'field Name *', 'field Prompt'],
  'agent, tools': ['Add custom tool', 'Remove server tickets', 'Remove tool page_person', 'field Allow'],
  'agent, skills': ['Detach…', 'Update copy…'],
  'agent, versions': ['Pin version 1', 'Roll back to version 1'],
  'skills, open': ['Create skill', 'Delete skill…', 'Detach…', 'Edit skill', 'Update copy…'],
  'memories, open': ['Add memory', 'Delete…', 'Disable', 'Edit memory'],
  experiment: ['Delete experiment'],
  'webhooks, agent': ['Save webhook', 'Send test delivery', 'field Generate secret'],
  'webhooks, delivery': ['Replay delivery', 'Send test delivery'],
  'webhooks, endpoint': ['Create endpoint', 'Delete endpoint', 'Edit endpoint', 'Pause endpoint', 'Rotate secret'],
  'schedules, open': ['Create schedule', 'Delete schedule', 'Edit schedule', 'Pause schedule', 'Run now'],
  'mcp, open': ['Call tool echo'],
  'mcp, login': ['Log in at the server'],
  'vault, open': ['Delete entry', 'Replace value', 'Store vault entry'],
}

test('a member has the controls that a viewer does not get', async t => {
  const { page } = await openConsole(t, { service, key: member.key ?? '', isReducedMotion: true })
  for (const [name, expected] of Object.entries(changing)) {
    await visit(page, service.url, { path: addresses[name] ?? '' })
    const controls = new Set(await controlsOf(page))
    assert.deepEqual(
      expected.filter(control => !controls.has(control)),
      [],
      name,
    )
  }
})

test('an address that opens a form, and the playground, say that viewers cannot use it', async t => {
  const { page } = await openConsole(t, { service, key: viewer.key ?? '' })
  const requests = watchRequests(page)
  const reasons = [
    ['/console/playground', 'Viewers cannot call models'],
    ['/console/sessions?create=1', 'Viewers cannot start sessions'],
    ['/console/agents?create=1', 'Viewers cannot create agents'],
    ['/console/agents?import=1', 'Viewers cannot import agents'],
    [`/console/agents/${more.agent}?try=1`, 'Viewers cannot start sessions'],
    ['/console/skills?create=1', 'Viewers cannot create skills'],
    [`/console/memories?agent=${full.agent}&create=1`, 'Viewers cannot add memories'],
    ['/console/evaluations?create=1', 'Viewers cannot run experiments'],
    ['/console/webhooks?create=1', 'Viewers cannot set up webhooks'],
    ['/console/webhooks?tab=deliveries&test=1', 'Viewers cannot send deliveries'],
    ['/console/webhooks?tab=outgoing&create=1', 'Viewers cannot create endpoints'],
    ['/console/schedules?create=1', 'Viewers cannot create schedules'],
    [`/console/mcp?open=${more.mcpServer}&tool=echo`, 'Viewers cannot call tools'],
    [`/console/compare?a=${full.session}&rerun=1`, 'Viewers cannot re-run prompts'],
    ['/console/vault?create=1', 'Viewers cannot store vault entries'],
  ] as const
  for (const [path, reason] of reasons) {
    await page.goto(`${service.url}${path}`)
    await page.getByText(reason).waitFor()
  }
  for (const path of [
    `/console/skills?open=${more.skill}&edit=1`,
    `/console/memories?agent=${full.agent}&open=${more.memory}&edit=1`,
    '/console/vault?open=owner/CALENDAR_TOKEN&edit=1',
  ]) {
    await visit(page, service.url, { path })
    await page.getByRole('complementary').getByText('Created').waitFor()
    assert.equal(await page.getByRole('complementary').locator('form').count(), 0, path)
  }
  assert.deepEqual(requests, [])
})

test('neither the search, nor keys, nor selected rows let a viewer change something', async t => {
  const { page } = await openConsole(t, { service, key: viewer.key ?? '', path: '/console/sessions' })
  const requests = watchRequests(page)
  await page.getByRole('checkbox', { name: 'Select Page the person on call' }).check()
  await page.getByRole('button', { name: 'Export CSV' }).waitFor()
  assert.equal(await page.getByRole('button', { name: /1 session/ }).count(), 0)

  await page.getByRole('button', { name: /^Search or jump to/ }).click()
  const search = page.getByPlaceholder('Page, name or id')
  for (const word of ['create', 'start', 'playground']) {
    await search.fill('vault')
    await page.getByText('g v', { exact: true }).waitFor()
    await search.fill(word)
    await page.getByText('Nothing matches').waitFor()
  }
  await page.keyboard.press('Escape')

  await visit(page, service.url, { path: `/console/sessions/${more.customToolSession}` })
  await page.getByText('waiting for custom tool').first().waitFor()
  for (const key of ['i', 'g', 'p', 'Control+Enter']) await page.keyboard.press(key)
  assert.equal(await page.getByRole('dialog').count(), 0)
  assert.match(page.url(), /console\/sessions\/ses_/)
  await page.keyboard.press('?')
  const keys = page.getByRole('dialog', { name: 'Keyboard' })
  await keys.getByText('open Sessions').waitFor()
  assert.equal(await keys.getByText(/interrupt|send|playground/i).count(), 0)
  assert.deepEqual(requests, [])
})
