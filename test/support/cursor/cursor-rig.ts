import type { NewEvent } from '../../../src/contract/events.ts'
import { createOutbound } from '../../../src/server/platform/outbound.ts'
import { cursorKind } from '../../../src/server/runtimes/cursor/kind.ts'
import type { CursorScript } from './cursor-account.ts'
import { startCursorFake } from './cursor-fake.ts'
import type { CursorStep } from './cursor-runs.ts'

interface Options {
  readonly script?: CursorScript
  /** What the runtime knows as its key; the right one by default. */
  readonly apiKey?: string
  readonly memories?: string
}

/** The runtime over a fake of Cursor; its waits take no time, and are counted. */
export async function startCursorRig({ script, apiKey, memories = '' }: Options = {}) {
  const fake = await startCursorFake(script ? { script } : {})
  const waits: number[] = []
  const kind = cursorKind({
    outbound: createOutbound({ allow: [fake.host] }),
    memories: async () => memories,
    wait: async milliseconds => {
      waits.push(milliseconds)
      await new Promise(resolve => setTimeout(resolve, 1))
    },
  })
  const endpoint = { id: 'cursor', apiBase: fake.url, apiKey: apiKey ?? fake.key }
  return { fake, kind, endpoint, waits, runtime: kind.connect(endpoint) }
}

/** What an agent has pushed. */
export const git = {
  branches: [{ repoUrl: 'github.com/acme/app', branch: 'cursor/fix', prUrl: 'https://github.com/acme/app/pull/7' }],
}

/** Part of an answer. */
export const textStep = (text: string): CursorStep => ({ event: 'assistant', data: { text } })

/** One state of the tool call `c1`. */
export const call = (status: string, more: object = {}): CursorStep => ({
  event: 'tool_call',
  data: { callId: 'c1', name: 'shell', status, args: { command: 'ls' }, ...more },
})

/** A whole run with one tool call. */
export const turn: readonly CursorStep[] = [
  { event: 'thinking', data: { text: 'Hm.' } },
  textStep('I '),
  textStep('look.'),
  call('running'),
  { event: 'interaction_update', data: { type: 'token-delta' } },
  call('completed', { result: 'a.txt' }),
  { event: 'heartbeat', data: {} },
  textStep('All '),
  textStep('done.'),
  { end: { text: 'All done.', git } },
]

/** The events that `turn` comes to. */
export const turnTypes: readonly string[] = [
  'session.status_running',
  'agent.thinking',
  'agent.message',
  'agent.tool_use',
  'agent.tool_result',
  'agent.message',
  'agent.tool_result',
  'session.status_idle',
]

/** What a `session.error` says. */
export const errorOf = (event: NewEvent | undefined) => event?.error as { type: string; message: string }
