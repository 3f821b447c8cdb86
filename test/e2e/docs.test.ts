import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { allRoutes } from '../../src/contract/api.ts'
import { launchChromium } from '../support/service/chromium.ts'
import { startService } from '../support/service/service.ts'

const service = await startService()
const browser = await launchChromium()
after(() => browser.close())

/** Runs in the page: one read of its text, since a locator for each of the summaries walks all of the page each time. */
const showsAll = (texts: readonly string[]): boolean => {
  const { document } = globalThis as unknown as { readonly document: { readonly body: { readonly innerText: string } } }
  const lines = new Set(document.body.innerText.split('\n').map(line => line.trim()))
  return texts.every(text => lines.has(text))
}

test('S49: GET /docs lists every endpoint, with nothing from another host and nothing to complain about', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  const requested: string[] = []
  const complaints: string[] = []
  page.on('request', request => requested.push(request.url()))
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', error => complaints.push(error.message))
  await page.goto(`${service.url}/docs`)
  for (const [group, routes] of Map.groupBy(allRoutes, route => route.group)) {
    // Chapters and tags may have the same name; only tags have a button.
    const tag = page.getByRole('button', { name: new RegExp(`^(Open|Close) Group - ${group}$`) }).first()
    if ((await tag.textContent())?.startsWith('Open')) await tag.click()
    const summaries = routes.map(({ summary }) => summary)
    await page.waitForFunction(showsAll, summaries)
  }
  const screenshot = process.env['SCREENSHOT']
  if (screenshot) await page.screenshot({ path: screenshot })
  assert.deepEqual(
    requested.filter(url => !url.startsWith(`${service.url}/`) && !/^(data|blob):/.test(url)),
    [],
  )
  // A violation of the page's policy is an error on the console as well.
  assert.deepEqual(complaints, [])
})
