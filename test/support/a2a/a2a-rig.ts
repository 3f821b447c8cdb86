import type { NewEvent } from '../../../src/contract/events.ts'
import { createOutbound } from '../../../src/server/platform/outbound.ts'
import { a2aKind } from '../../../src/server/runtimes/a2a/kind.ts'
import { startA2aFake } from './a2a-fake.ts'

type Options = NonNullable<Parameters<typeof startA2aFake>[0]> & {
  /** What the runtime knows as its key; the right one by default. */
  readonly apiKey?: string
  readonly memories?: string
  /** Further entries of `outbound.allow`. */
  readonly allow?: readonly string[]
}

/** The runtime over a fake agent; its waits take no time, and are counted. */
export async function startA2aRig({ apiKey, memories = '', allow = [], ...options }: Options = {}) {
  const fake = await startA2aFake(options)
  const waits: number[] = []
  const outbound = createOutbound({ allow: [fake.host, ...allow] })
  const kind = a2aKind({
    outbound,
    isListed: url => outbound.lists(url),
    memories: async () => memories,
    wait: async milliseconds => {
      waits.push(milliseconds)
      await new Promise(resolve => setTimeout(resolve, 2))
    },
  })
  const endpoint = { id: 'remote', apiBase: fake.url, apiKey: apiKey ?? fake.key }
  return { fake, kind, endpoint, waits, runtime: kind.connect(endpoint) }
}

/** What a `session.error` says. */
export const errorOf = (event: NewEvent | undefined): string =>
  (event?.error as { message: string } | undefined)?.message ?? `no error: ${event?.type}`
