import { Client } from 'pg'
import type { Page } from 'playwright-core'
import { eventually } from '../../test/support/service/eventually.ts'
import type { BenchCase, Figure } from '../bench-case.ts'
import { createAgent, createSession, sendPrompt, succeeded } from '../demo-session.ts'
import type { Server } from '../server.ts'
import { median } from '../statistics.ts'
import { type Place, withConsole } from './open-console.ts'

const length = 10_000
const loads = 3
const MiB = 1024 * 1024

/** Repeats the events of a turn 5 s after each other, with ids of their own that refer to each other in the same way. */
const fillText = `
  with turn as (
    select seq, type, payload, id, created_at, row_number() over (order by seq) as place, count(*) over () as size
    from session_events where session_id = $1
  )
  insert into session_events (session_id, seq, id, type, payload, fence, created_at)
  select $1, (size * copy + place)::int, id || 'c' || copy, type,
         regexp_replace(payload::text, '"((evt|toolu|run|msg)_[0-9A-Za-z_]+)"', '"\\1c' || copy || '"', 'g')::json, 1,
         created_at + copy * interval '5 seconds'
  from turn cross join generate_series(1, ceil($2::numeric / size)::int - 1) copy`

/** What a long session costs the person who opens it. */
export const longSession: BenchCase = {
  name: 'long-session',
  title: `a session of ${length.toLocaleString('en')} events with tool calls: until it can be used (median of ${loads}), frames while scrolling, memory with all events loaded`,
  run: ({ folder, log }) =>
    withConsole(folder, async ({ server, databaseUrl, open }) => {
      const session = await prepare({ server, databaseUrl })
      const times: number[] = []
      const load = async (): Promise<Page> => {
        const startedAt = performance.now()
        const page = await open(`/console/sessions/${session}`)
        await usable(page)
        times.push(performance.now() - startedAt)
        return page
      }
      for (let at = 1; at < loads; at++) await (await load()).context().close()
      const page = await load()
      return [usableFigure(times), ...(await scrolled(page, log))]
    }),
}

const usableFigure = (times: readonly number[]): Figure => ({
  name: 'until it can be used',
  value: median(times),
  unit: 'ms',
  target: 2_000,
  detail: 'the last message is shown, and a click opens a tool call',
})

/** Creates a session and fills it with events. Returns its id. */
async function prepare({ server, databaseUrl }: Pick<Place, 'server' | 'databaseUrl'>): Promise<string> {
  const session = await createSession(server, await createAgent(server, 'tool'))
  await sendPrompt(server, session, 'Create note.txt saying "hello".')
  await untilIdle(server, session)
  await fill(databaseUrl, session)
  return session
}

async function untilIdle(server: Server, session: string): Promise<void> {
  const isIdle = async () => (await succeeded(server, `GET /v1/sessions/${session}`)).json()['status'] === 'idle'
  await eventually(isIdle, { what: 'the end of the turn' })
}

async function fill(url: string, session: string): Promise<number> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query("update session_events set created_at = created_at - interval '2 hours' where session_id = $1", [
      session,
    ])
    await client.query(fillText, [session, length])
    const { rows } = await client.query<{ last: number }>(
      'update sessions set next_seq = (select max(seq) + 1 from session_events where session_id = $1) where id = $1 returning next_seq - 1 as last',
      [session],
    )
    await client.query('vacuum analyze session_events')
    return Number(rows[0]?.last)
  } finally {
    await client.end()
  }
}

/** Waits until the end of the transcript is shown and answers a click. */
async function usable(page: Page): Promise<void> {
  const row = page.getByTestId('transcript').getByRole('button', { expanded: false }).last()
  await row.click()
  await page.getByTestId('transcript').getByRole('button', { expanded: true }).first().waitFor()
}

/** Runs in the page: scrolls 2,400 pixels a second for 5 s, as a fast wheel does; returns the milliseconds of each frame. */
const scroll = `(async () => {
  const list = document.querySelector('[data-testid=transcript]')
  const frames = []
  const end = performance.now() + 5_000
  for (let last = performance.now(); last < end; ) {
    const now = await new Promise(requestAnimationFrame)
    list.scrollTop -= Math.min(now - last, 50) * 2.4
    frames.push(now - last)
    last = now
  }
  return frames.slice(1)
})()`

async function scrolled(page: Page, log: (line: string) => void): Promise<Figure[]> {
  const search = page.getByRole('textbox', { name: /search/i }).first()
  await page.keyboard.press('/')
  await search.fill('hello')
  await eventually(async () => (await page.getByText('Older events load').count()) === 0, {
    what: 'all events',
  })
  await page.waitForTimeout(1_000)
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devtools.send('Runtime.getHeapUsage')
  await search.fill('')
  const frames = await page.evaluate<number[]>(scroll)
  const mean = frames.reduce((sum, ms) => sum + ms, 0) / frames.length
  log(`${frames.length} frames, the longest ${Math.max(...frames).toFixed(0)} ms`)
  return [
    { name: 'heap with all events', value: usedSize / MiB, unit: 'MiB', target: 300 },
    {
      name: 'frame while scrolling',
      value: mean,
      unit: 'ms',
      target: 20,
      detail: `${(1_000 / mean).toFixed(0)} frames/s`,
    },
  ]
}
