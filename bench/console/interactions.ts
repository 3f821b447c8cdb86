import type { Page } from 'playwright-core'
import type { BenchCase } from '../bench-case.ts'
import { createAgent, createSession, sendPrompt } from '../demo-session.ts'
import { percentile } from '../statistics.ts'
import { withConsole } from './open-console.ts'

const rounds = 3

/** Runs in the page: collects how long each click and key takes until the next paint. Shorter ones than 16 ms count as 16. */
const collect = `
  window.interactions = []
  new PerformanceObserver(list => {
    for (const { interactionId, name, duration } of list.getEntries())
      if (interactionId) window.interactions.push({ id: interactionId, name, ms: duration, path: location.pathname })
  }).observe({ type: 'event', durationThreshold: 16, buffered: true })`

interface Interaction {
  readonly id: number
  readonly name: string
  readonly ms: number
  /** The page after it. */
  readonly path: string
}

/** Returns the longest event of each interaction. */
async function interactionsOf(page: Page): Promise<Interaction[]> {
  const events = await page.evaluate<Interaction[]>('window.interactions')
  const ofOne = Map.groupBy(events, ({ id }) => id).values()
  return [...ofOne].flatMap(same => same.toSorted((a, b) => b.ms - a.ms).slice(0, 1))
}

/** Clicks every page of the menu, and types and opens rows in the list of sessions. */
async function useConsole(page: Page): Promise<void> {
  const links = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').all()
  for (const link of links) {
    await link.click()
    await page.waitForTimeout(1_000)
  }
  await page.keyboard.press('Control+k')
  await page.waitForTimeout(300)
  await page.keyboard.type('sessions', { delay: 80 })
  await page.keyboard.press('Enter')
  await page.waitForTimeout(400)
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForTimeout(600)
}

/** How long the console takes to show the effect of a click or a key. */
export const interactions: BenchCase = {
  name: 'interactions',
  title: `from a click or a key to the next paint: every page of the menu for a second, the palette at 12 keys a second, a list by keyboard, a session; ${rounds} rounds`,
  run: ({ folder, log }) =>
    withConsole(folder, async ({ server, open }) => {
      const agent = await createAgent(server, 'text')
      for (let at = 0; at < 20; at++) await sendPrompt(server, await createSession(server, agent), `Question ${at}`)
      const all: Interaction[] = []
      for (let round = 0; round < rounds; round++) {
        const page = await open('/console/sessions')
        await page.getByRole('table').waitFor()
        await page.evaluate(collect)
        await useConsole(page)
        all.push(...(await interactionsOf(page)))
        await page.context().close()
      }
      const slowest = all.toSorted((a, b) => b.ms - a.ms).slice(0, 5)
      log(`the slowest: ${slowest.map(({ name, ms, path }) => `${name} to ${path} ${ms} ms`).join(', ')}`)
      const durations = all.map(({ ms }) => ms)
      const detail = `${durations.length} interactions of at least 16 ms`
      return [
        { name: 'p50', value: percentile(durations, 0.5), unit: 'ms', detail },
        { name: 'p98', value: percentile(durations, 0.98), unit: 'ms', target: 100, detail },
      ]
    }),
}
