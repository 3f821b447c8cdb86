import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import type { BenchCase } from '../bench-case.ts'
import { createAgent, createSession, sendPrompt } from '../demo-session.ts'
import { withConsole } from './open-console.ts'

const watchMs = 60_000
const busyMs = 30_000

/** Collects the paths of the requests that a page sends from now on. */
function pathsOf(page: Page): readonly string[] {
  const paths: string[] = []
  page.on('request', request => paths.push(new URL(request.url()).pathname))
  return paths
}

const isStream = (path: string): boolean => path.endsWith('/stream')

/** What an open tab costs the service. */
export const requests: BenchCase = {
  name: 'requests',
  title: `requests of a tab that shows the overview of a service at rest (${watchMs / 1_000} s), and of one that shows a busy session (${busyMs / 1_000} s)`,
  run: ({ folder, log }) =>
    withConsole(folder, async ({ server, open }) => {
      const session = await createSession(server, await createAgent(server, 'text'))
      const idle = await open('/')
      await idle.getByRole('heading', { level: 1 }).waitFor()
      await sleep(5_000)
      const paths = pathsOf(idle)
      await sleep(watchMs)
      log(`idle: ${JSON.stringify(Object.fromEntries(countOf(paths)))}`)
      await idle.context().close()

      const busy = await open('/')
      const ofBusy = pathsOf(busy)
      await busy.goto(`${server.url}/console/sessions/${session}`)
      await busy.getByTestId('live').waitFor()
      const opened = ofBusy.length
      const until = performance.now() + busyMs
      for (let at = 0; performance.now() < until; at++) {
        await sendPrompt(server, session, `Question ${at}.`)
        await sleep(500)
      }
      const others = ofBusy.slice(opened).filter(path => !isStream(path))
      log(`busy: ${JSON.stringify(Object.fromEntries(countOf(ofBusy.slice(opened))))}`)
      return [
        { name: 'idle, in 5 s', value: (paths.length * 5_000) / watchMs, unit: 'requests', target: 1 },
        { name: 'busy, streams', value: ofBusy.filter(isStream).length, unit: '', target: 1 },
        { name: 'busy, others in 5 s', value: (others.length * 5_000) / busyMs, unit: 'requests' },
      ]
    }),
}

const countOf = (paths: readonly string[]): Map<string, number> =>
  new Map([...Map.groupBy(paths, path => path)].map(([path, same]) => [path, same.length]))
