// Takes a screenshot of every page, empty and full; `npm run screenshots` runs it as a test.
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { openConsole } from '../support/console/browser.ts'
import { type ConsolePage, emptyForms, pagesOfMenu, pagesOfObjects, visit } from '../support/console/console-pages.ts'
import { fill, startEmptyService } from '../support/console/full-service.ts'

const root = join(import.meta.dirname, '..', '..')
const cache = join(root, '.cache', 'screenshots')
/** Those that the docs show, in light and 1440 px. */
const shown = new Set([
  'overview',
  'sessions',
  'session',
  'inbox',
  'agent',
  'memories-of-agent',
  'webhooks-deliveries',
  'usage',
  'logs',
])
const docs = join(root, 'docs', 'images', 'console')
for (const folder of [cache, docs]) mkdirSync(folder, { recursive: true })

const empty = await startEmptyService()
const { service } = empty
const variants = (['light', 'dark'] as const).flatMap(theme => [1440, 390].map(width => ({ theme, width })))

const menuOf = async (page: Page, width: number): Promise<readonly ConsolePage[]> => {
  await page.setViewportSize({ width: 1440, height: 900 })
  const pages = await pagesOfMenu(page)
  await page.setViewportSize({ width, height: 900 })
  return pages
}

for (const { theme, width } of variants) {
  test(`empty, ${theme}, ${width} px`, async t => {
    const { page } = await openConsole(t, { service, theme, width, expected: /404/ })
    for (const each of [...(await menuOf(page, width)), ...emptyForms]) {
      await visit(page, service.url, each)
      await page.screenshot({ path: join(cache, `${each.name}-empty-${theme}-${width}.png`) })
    }
  })
}

let filled: ReturnType<typeof fill> | undefined

for (const { theme, width } of variants) {
  test(`full, ${theme}, ${width} px`, async t => {
    filled ??= fill(empty)
    const full = await filled
    const { page } = await openConsole(t, { service, theme, width })
    for (const each of [...(await menuOf(page, width)), ...pagesOfObjects(full)]) {
      await visit(page, service.url, each)
      const path = join(cache, `${each.name}-full-${theme}-${width}.png`)
      await page.screenshot({ path })
      if (shown.has(each.name) && theme === 'light' && width === 1440)
        copyFileSync(path, join(docs, `${each.name}.png`))
    }
  })
}
