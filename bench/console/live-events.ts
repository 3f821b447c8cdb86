import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { BenchCase } from '../bench-case.ts'
import { createAgent, createSession, sendPrompt, succeeded } from '../demo-session.ts'
import { percentile } from '../statistics.ts'
import { withConsole } from './open-console.ts'

const prompts = 40
const pauseMs = 500

/** Runs in the page: notes when the text of each prompt has been painted. */
const watchPrompts = `
  window.painted = {}
  const look = () => {
    const text = document.querySelector('[data-testid=transcript]').textContent
    for (const [, number] of text.matchAll(/Question (\\d+)\\./g)) {
      if (window.painted[number]) continue
      window.painted[number] = Infinity
      requestAnimationFrame(() => setTimeout(() => { window.painted[number] = performance.timeOrigin + performance.now() }))
    }
  }
  new MutationObserver(look).observe(document.querySelector('[data-testid=transcript]'), { subtree: true, childList: true, characterData: true })`

/** How late an open page shows what has happened. */
export const liveEvents: BenchCase = {
  name: 'live-events',
  title: `from the time in a stored event to its paint in an open session; ${prompts} prompts while the demo model answers`,
  run: ({ folder, log }) =>
    withConsole(folder, async ({ server, open }) => {
      const session = await createSession(server, await createAgent(server, 'text'))
      await sendPrompt(server, session, 'Hello')
      const page = await open(`/console/sessions/${session}`)
      await page.getByTestId('transcript').getByText('Hello').first().waitFor()
      await sleep(2_000)
      await page.evaluate(watchPrompts)
      for (let at = 0; at < prompts; at++) {
        await sendPrompt(server, session, `Question ${at}.`)
        await sleep(pauseMs)
      }
      await sleep(3_000)
      const painted = await page.evaluate<Record<string, number>>('window.painted')
      const stored = await storedAt(server, session)
      const delays = [...stored].map(([number, at]) => (painted[number] ?? Number.POSITIVE_INFINITY) - at)
      log(`${delays.length} prompts, the slowest ${Math.max(...delays).toFixed(0)} ms`)
      const detail = `${delays.length} prompts`
      return [
        { name: 'p50', value: percentile(delays, 0.5), unit: 'ms', detail },
        { name: 'slowest', value: Math.max(...delays), unit: 'ms', target: 300, detail },
      ]
    }),
}

/** The time in the event of each prompt, in milliseconds since 1970. */
async function storedAt(server: Parameters<typeof succeeded>[0], session: string): Promise<Map<string, number>> {
  const answer = await succeeded(server, `GET /v1/sessions/${session}/events?limit=1000&types[]=user.message`)
  const times = new Map<string, number>()
  for (const event of answer.json<{ data: SessionEvent[] }>().data) {
    const number = /Question (\d+)\./.exec(JSON.stringify(event))?.[1]
    if (number !== undefined) times.set(number, Date.parse(event.processed_at ?? ''))
  }
  if (times.size !== prompts) throw new Error(`${times.size} of ${prompts} prompts are in the log`)
  return times
}
