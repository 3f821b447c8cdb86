import type { Client } from '../client/client.ts'
import { type ReadEvent, type ReaderState, readEvents } from '../client/event-reader.ts'
import { awaitedApprovals, budgetReached, endsRun, type SessionEvent } from '../contract/events.ts'
import { type Outcome, type RunEnd, runEndOf, textOf } from './event-lines.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import { elapsedText } from './format.ts'
import type { Out } from './out.ts'
import { createTranscript } from './transcript.ts'

interface FollowOptions {
  readonly sessionId: string
  /** Sequence number after which to start. */
  readonly after: number
  /** Prompt whose end to wait for, by id or, while the id is unknown, by text; absent: any prompt. */
  readonly prompt?: { readonly id: string } | { readonly text: string } | undefined
  /** Aborts when the user wants to stop the run; the run is interrupted and followed to its end. */
  readonly stop: AbortSignal
  readonly timeoutMs?: number | undefined
}

/** A run that was followed to its end. */
export interface FollowedRun extends RunEnd {
  /** Who interrupted the run, if anyone. */
  readonly stoppedBy: 'user' | 'timeout' | undefined
}

/** Events to hide from the user who has just sent the prompt. The command prints the end of the run. */
const isHidden = (event: SessionEvent): boolean =>
  event.type === 'user.message' ||
  event.type === 'session.status_running' ||
  awaitedApprovals(event).length > 0 ||
  endsRun(event)

/** Prints the events of a run until it ends; reconnects after a lost connection. */
export async function followRun(client: Client, options: FollowOptions, out: Out): Promise<FollowedRun> {
  const { sessionId, after } = options
  const transcript = createTranscript(out, { isHidden })
  const stopper = createStopper(client, options, out)
  const isLast = lastEventTest(options.prompt)
  const onState = (state: ReaderState) => noteState(out, state)
  try {
    for await (const read of readEvents({ client, sessionId, after, eventDeltas: out.isLive, onState })) {
      stopper.note(read)
      transcript.show(read)
      if (read.ephemeral || !isLast(read.event)) continue
      transcript.close()
      return { ...runEndOf(read.event), stoppedBy: stopper.stoppedBy() }
    }
    return { outcome: 'stopped', text: 'session was deleted', stoppedBy: stopper.stoppedBy() }
  } finally {
    transcript.close()
    stopper.close()
  }
}

/** Returns the exit code of a followed run. */
export function exitCodeOfRun({
  outcome,
  stoppedBy,
}: {
  outcome: Outcome
  stoppedBy?: FollowedRun['stoppedBy']
}): ExitCode {
  if (stoppedBy === 'user' && outcome !== 'done') return exitCodes.interrupted
  switch (outcome) {
    case 'done':
      return exitCodes.ok
    case 'approval':
      return exitCodes.blocked
    case 'budget':
      return exitCodes.limited
    case 'stopped':
    case 'failed':
      return exitCodes.failed
  }
}

/** Prints why the reader waits, so that a lost connection does not look like a slow model. */
export function noteState(out: Out, state: ReaderState): void {
  if (state.name !== 'waiting') return
  out.note({ text: `… ${state.reason}; retrying in ${elapsedText(state.retryInMs)}`, tone: 'warning' })
}

/** Returns a test for the event that ends the run of `prompt`; ends of other prompts of the session do not match. */
function lastEventTest(prompt: FollowOptions['prompt']): (event: SessionEvent) => boolean {
  let promptId = prompt && 'id' in prompt ? prompt.id : undefined
  const text = prompt && 'text' in prompt ? prompt.text : undefined
  return event => {
    if (promptId === undefined && text !== undefined) {
      if (event.type === 'user.message' && textOf(event) === text) promptId = event.prompt_id
      return event.type === 'session.deleted'
    }
    const own = event.prompt_id
    const isOurs = promptId === undefined || own === undefined || own === promptId
    // A budget that pauses one prompt also blocks all prompts after it.
    const isOver = endsRun(event) || awaitedApprovals(event).length > 0
    return isOver && (isOurs || budgetReached(event) !== undefined)
  }
}

/** Interrupts the run on request of the user or at the time limit, and again if the run starts only afterwards. */
function createStopper(client: Client, { sessionId, stop, timeoutMs }: FollowOptions, out: Out) {
  let stoppedBy: FollowedRun['stoppedBy']
  const interrupt = () => {
    client.sessions.interrupt({ params: { session_id: sessionId } }).catch((error: unknown) => {
      out.note({ text: `could not stop the run: ${error instanceof Error ? error.message : error}`, tone: 'bad' })
    })
  }
  const ask = (reason: 'user' | 'timeout') => {
    if (stoppedBy) return
    stoppedBy = reason
    out.note(
      reason === 'user' ? '■ stopping (press Ctrl-C again to quit immediately)' : '■ time limit reached: stopping',
    )
    interrupt()
  }
  const onStop = () => ask('user')
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => ask('timeout'), timeoutMs)
  if (stop.aborted) onStop()
  else stop.addEventListener('abort', onStop, { once: true })
  return {
    stoppedBy: () => stoppedBy,
    note({ ephemeral, event }: ReadEvent) {
      if (!ephemeral && stoppedBy && event.type === 'session.status_running') interrupt()
    },
    close() {
      clearTimeout(timer)
      stop.removeEventListener('abort', onStop)
    },
  }
}
