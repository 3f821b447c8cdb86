import { type ReadEvent, readEvents } from '../../client/event-reader.ts'
import type { SessionEvent } from '../../contract/events.ts'
import type { Bench, SuiteSession } from './bench.ts'
import type { SuiteCase } from './case.ts'
import { CheckFailed, check, checkSame, NotShown } from './check.ts'
import { completedRun } from './run-cases.ts'

/** Events of the stream after `after`, until that of number `last`. */
async function streamed(bench: Bench, session: SuiteSession, { after, last }: { after: number; last: number }) {
  const { client, withinMs, stop } = bench
  const signal = AbortSignal.any([stop, AbortSignal.timeout(withinMs)])
  const seen: SessionEvent[] = []
  for await (const { ephemeral, event } of readEvents({ client, sessionId: session.id, after, signal })) {
    if (!ephemeral) seen.push(event)
    if (seen.at(-1)?.seq === last) return seen
  }
  throw new CheckFailed(
    `the stream after ${after} did not come to event ${last}; it came to ${seen.at(-1)?.seq ?? after}`,
  )
}

/** Places in the log, both ends among them; at most so many as streams may be opened for. */
function placesIn(last: number): number[] {
  const step = Math.max(1, Math.ceil(last / 40))
  return Array.from({ length: Math.ceil(last / step) }, (_, at) => at * step)
}

async function streamIsList(bench: Bench): Promise<void> {
  const session = await bench.newSession()
  const log = await completedRun(session, bench.prompts.tool)
  checkSame(await streamed(bench, session, { after: 0, last: log.length }), log, 'stream and list differ')
}

async function resumesAnywhere(bench: Bench): Promise<void> {
  const session = await bench.newSession()
  const log = await completedRun(session, bench.prompts.tool)
  for (const after of placesIn(log.length)) {
    const rest = await streamed(bench, session, { after, last: log.length })
    checkSame(rest, log.slice(after), `a reader that resumes after event ${after} gets something else`)
  }
}

/** All that a reader with previews sees of a run. */
async function watchedRun(bench: Bench): Promise<ReadEvent[]> {
  const { client, withinMs, stop, prompts } = bench
  const session = await bench.newSession()
  const leave = new AbortController()
  const signal = AbortSignal.any([stop, AbortSignal.timeout(withinMs), leave.signal])
  const seen: ReadEvent[] = []
  const open = Promise.withResolvers<void>()
  const onState = ({ name }: { name: string }) => name === 'open' && open.resolve()
  const reading = (async () => {
    const events = readEvents({
      client,
      sessionId: session.id,
      eventDeltas: true,
      signal,
      onState: state => void onState(state),
    })
    for await (const read of events) {
      seen.push(read)
      if (read.event.type === 'session.status_idle' || read.event.type === 'session.error') return
    }
  })()
  try {
    await Promise.race([open.promise, reading])
    await completedRun(session, prompts.text)
    await reading
    return seen
  } finally {
    leave.abort()
  }
}

const textIn = (content: unknown): string =>
  (Array.isArray(content) ? (content as { text?: string }[]) : []).map(({ text }) => text ?? '').join('')

async function previews(bench: Bench): Promise<void> {
  const seen = await watchedRun(bench)
  const written = new Map<unknown, string>()
  for (const { ephemeral, event } of seen) {
    if (!ephemeral || event.type !== 'event_delta') continue
    const { event_id: id, delta } = event as unknown as { event_id: string; delta: { content: { text: string } } }
    written.set(id, (written.get(id) ?? '') + delta.content.text)
  }
  const messages = seen.filter(({ event }) => event.type === 'agent.message').map(({ event }) => event as SessionEvent)
  if (messages.length === 0) throw new NotShown('the model said nothing')
  const shown = messages.filter(({ id }) => written.has(id))
  check(shown.length > 0, 'no agent.message was previewed')
  for (const { id, content } of shown as (SessionEvent & { content?: unknown })[]) {
    checkSame(written.get(id), textIn(content), `the deltas of ${id} are not its text`)
  }
}

async function hasNoPreviews(bench: Bench): Promise<void> {
  const deltas = (await watchedRun(bench)).filter(({ ephemeral }) => ephemeral)
  check(deltas.length === 0, 'it previews, though it does not claim to')
}

/** Cases of streams. */
export const streamCases: readonly SuiteCase[] = [
  { id: 'stream', shows: 'the stream gives exactly what the list gives', check: streamIsList },
  { id: 'resume', shows: 'a reader that resumes at any event gets exactly the rest', check: resumesAnywhere },
  {
    id: 'previews',
    shows: 'deltas come before the text, and add up to it',
    flag: 'streaming',
    check: previews,
    refusal: { shows: 'no deltas come', check: hasNoPreviews },
  },
]
