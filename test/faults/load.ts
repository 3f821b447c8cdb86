import { setTimeout as sleep } from 'node:timers/promises'
import { endsRun } from '../../src/contract/events.ts'
import { eventually } from '../support/service/eventually.ts'
import type { Target } from '../support/service/send.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import type { Bench } from './fault-case.ts'
import type { Journal } from './journal.ts'
import type { Observer } from './observer.ts'
import { follow, type Reader } from './readers.ts'
import { toolPrompt } from './upstream.ts'

export interface LoadPlan {
  readonly sessions: number
  readonly promptsPerSession: number
  /** How slowly the model answers. */
  readonly pace: Pick<Answer, 'delayMs' | 'chunkDelayMs'>
  /** Longest pause of a client between two prompts. */
  readonly gapMs: number
}

/** Clients: each makes a session, follows it, and sends prompts with a tool call one after the other. */
export interface Load {
  readonly readers: readonly Reader[]
  /** Resolves when every prompt was acknowledged. */
  readonly sent: Promise<void>
}

/** A client sends no more before one of so many prompts has ended: the service takes at most 100 in a queue. */
const maxOpen = 20

interface LoadPlace {
  readonly bench: Pick<Bench, 'random' | 'signal'>
  readonly journal: Journal
  readonly target: () => Target
}

export function startLoad({ bench, journal, target }: LoadPlace, plan: LoadPlan): Load {
  const { random } = bench
  const readers: Reader[] = []
  const client = async (number: number) => {
    const sessionId = await journal.session(target, `s${number}`)
    const reader = follow(bench, target, sessionId)
    readers.push(reader)
    const ended = () => reader.events.filter(endsRun).length
    for (let at = 0; at < plan.promptsPerSession; at++) {
      const key = `s${number}-${at}`
      const by = random.chance() < 0.5 ? 'message id' : 'idempotency key'
      await journal.prompt(target, { sessionId, key, text: toolPrompt(key, plan.pace), by })
      await sleep(random.whole(0, plan.gapMs))
      while (at - ended() >= maxOpen && !bench.signal.aborted) await sleep(200)
      bench.signal.throwIfAborted()
    }
  }
  const sent = Promise.all(Array.from({ length: plan.sessions }, (_, at) => client(at))).then(() => undefined)
  // Awaited later; until then a failure must not end the process.
  sent.catch(() => undefined)
  return { readers, sent }
}

/** Waits until no prompt is open and every reader has the whole log; 60 s after the last fault at most. */
export async function untilQuiet(observer: Observer, readers: readonly Reader[], withinMs = 60_000): Promise<void> {
  await eventually(async () => (await observer.openPrompts()) === 0, { withinMs, what: 'the end of all prompts' })
  // A lease is released in its own step after the last prompt. One that only expires takes longer than this.
  await eventually(async () => (await observer.leasedSessions()) === 0, {
    withinMs: 5_000,
    what: 'the end of all leases',
  })
  const lengths = await observer.logLengths()
  const isComplete = () => readers.every(({ sessionId, events }) => events.length === (lengths.get(sessionId) ?? 0))
  await eventually(isComplete, { withinMs: 10_000, what: 'the last event at every reader' })
}
