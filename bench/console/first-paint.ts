import type { Page } from 'playwright-core'
import type { BenchCase } from '../bench-case.ts'
import { median } from '../statistics.ts'
import { withConsole } from './open-console.ts'

const loads = 7

/** Runs in the page: milliseconds from the navigation to the first paint that shows content. */
const contentfulPaint = `new Promise(resolve => {
  new PerformanceObserver(list => {
    for (const { name, startTime } of list.getEntries()) if (name === 'first-contentful-paint') resolve(startTime)
  }).observe({ type: 'paint', buffered: true })
})`

const paintMs = (page: Page): Promise<number> => page.evaluate<number>(contentfulPaint)

/** When a page shows something, and when it shows its data. */
export const firstPaint: BenchCase = {
  name: 'first-paint',
  title: `from the navigation to the first paint with content, and to the data of the page; nothing in caches, medians of ${loads} loads`,
  run: ({ folder, log }) =>
    withConsole(folder, async ({ open }) => {
      const paints: number[] = []
      const complete: number[] = []
      for (let at = 0; at < loads; at++) {
        const startedAt = performance.now()
        const page = await open('/console/sessions')
        await page.getByRole('heading', { name: 'No sessions yet' }).or(page.getByRole('table')).first().waitFor()
        complete.push(performance.now() - startedAt)
        paints.push(await paintMs(page))
        await page.context().close()
      }
      log(`paints: ${paints.map(Math.round).join(', ')} ms`)
      return [
        { name: 'first paint with content', value: median(paints), unit: 'ms', target: 1_000 },
        { name: 'list of sessions shown', value: median(complete), unit: 'ms', detail: 'with the start of the tab' },
      ]
    }),
}
