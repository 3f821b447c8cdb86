import { type ReadEvent, readEvents } from '../../client/event-reader.ts'
import { type SessionEvent, textOfContent } from '../../contract/events.ts'
import type { SuiteCase } from './case.ts'
import { CheckFailed, check, checkSame, NotShown } from './check.ts'
import type { SuiteContext, SuiteSession } from './context.ts'
import { completedRun } from './run-cases.ts'

/** Returns the events of the stream after `after` up to number `last`. */
async function streamed(
  context: SuiteContext,
  session: SuiteSession,
  { after, last }: { after: number; last: number },
) {
  const { client, withinMs, stop } = context
  const signal = AbortSignal.any([stop, AbortSignal.timeout(withinMs)])
  const seen: SessionEvent[] = []
  for await (const { ephemeral, event } of readEvents({ client, sessionId: session.id, after, signal })) {
    if (!ephemeral) seen.push(event)
    if (seen.at(-1)?.seq === last) return seen
  }
  throw new CheckFailed(`stream after ${after} did not reach event ${last}; last event: ${seen.at(-1)?.seq ?? after}`)
}

/** Returns up to 40 positions in the log to resume from. */
function positionsIn(last: number): number[] {
  const step = Math.max(1, Math.ceil(last / 40))
  return Array.from({ length: Math.ceil(last / step) }, (_, at) => at * step)
}

async function streamIsList(context: SuiteContext): Promise<void> {
  const session = await context.newSession()
  const log = await completedRun(session, context.prompts.tool)
  checkSame(await streamed(context, session, { after: 0, last: log.length }), log, 'events of the stream')
}

async function resumesAnywhere(context: SuiteContext): Promise<void> {
  const session = await context.newSession()
  const log = await completedRun(session, context.prompts.tool)
  for (const after of positionsIn(log.length)) {
    const rest = await streamed(context, session, { after, last: log.length })
    checkSame(rest, log.slice(after), `events after ${after}`)
  }
}

/** Returns everything that a reader with deltas gets of a run. */
async function watchedRun(context: SuiteContext): Promise<ReadEvent[]> {
  const { client, withinMs, stop, prompts } = context
  const session = await context.newSession()
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

async function previews(context: SuiteContext): Promise<void> {
  const seen = await watchedRun(context)
  const written = new Map<unknown, string>()
  for (const { ephemeral, event } of seen) {
    if (!ephemeral || event.type !== 'event_delta') continue
    const { event_id: id, delta } = event as unknown as { event_id: string; delta: { content: { text: string } } }
    written.set(id, (written.get(id) ?? '') + delta.content.text)
  }
  const messages = seen.flatMap(({ ephemeral, event }) => (!ephemeral && event.type === 'agent.message' ? [event] : []))
  if (messages.length === 0) throw new NotShown('model returned no text')
  const shown = messages.filter(({ id }) => written.has(id))
  check(shown.length > 0, 'no agent.message had deltas')
  for (const { id, content } of shown) {
    checkSame(written.get(id), textOfContent(content), `joined deltas of ${id}`)
  }
}

async function hasNoPreviews(context: SuiteContext): Promise<void> {
  const deltas = (await watchedRun(context)).filter(({ ephemeral }) => ephemeral)
  check(deltas.length === 0, 'runtime sends deltas without claiming the flag')
}

/** Cases of event streams. */
export const streamCases: readonly SuiteCase[] = [
  { id: 'stream', shows: 'the stream returns exactly the events of the list', check: streamIsList },
  { id: 'resume', shows: 'a reader that resumes at any event gets exactly the rest', check: resumesAnywhere },
  {
    id: 'previews',
    shows: 'deltas arrive before the text and add up to it',
    flag: 'streaming',
    check: previews,
    unsupported: { shows: 'no deltas are sent', check: hasNoPreviews },
  },
]
