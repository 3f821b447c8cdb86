import type { NewEvent, NewEventOf } from '../../../contract/events.ts'
import type { SessionRepository } from '../../../contract/repositories.ts'
import { wholeEchoes } from '../../platform/echoes.ts'
import {
  type Batch,
  failed,
  partsOf,
  type RunContext,
  type RunPrompt,
  type RunSession,
  type Runtime,
  type RuntimeKind,
} from '../runtime.ts'
import { createRedactor } from '../without-secrets.ts'
import type { OpenRepository, Repositories } from './repositories.ts'

/** Adds repositories to the runtimes that work in the files of a session; others stay as they are. */
export interface Cloning {
  readonly runtime: (runtime: Runtime) => Runtime
  readonly kind: (kind: RuntimeKind) => RuntimeKind
}

/**
 * Returns the runtime with repositories: clones `environment.repository` into the files of the session before its first
 * prompt, and pushes and proposes the work at the end of a prompt where `auto_create_pr` is true.
 */
export function withRepository<R extends Runtime>(runtime: R, repositories: Repositories): R {
  return {
    ...runtime,
    async *run(session: RunSession, prompt: RunPrompt, context: RunContext): AsyncGenerator<Batch> {
      const isWork = prompt.kind !== 'compact' && !context.signal.aborted
      const opened = isWork ? await repositories.open(session, context.signal) : undefined
      if (opened === undefined) return yield* runtime.run(session, prompt, context)
      if (typeof opened === 'string') return yield [failed('invalid_request_error', opened)]
      try {
        yield* runIn(opened, runtime, { session, prompt, context })
      } finally {
        opened.close()
      }
    },
  }
}

interface Task {
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
}

async function* runIn(
  opened: OpenRepository,
  runtime: Runtime,
  { session, prompt, context }: Task,
): AsyncGenerator<Batch> {
  const redactor = createRedactor(wholeEchoes(opened.secrets), context)
  let repository = session.refs.repository ?? undefined
  const ready = await opened.ready(repository)
  if (context.signal.aborted) return
  if (typeof ready === 'string') return yield [failed('invalid_request_error', ready)]
  if (ready.event) yield { events: [ready.event], refs: { repository: ready.repository } }
  repository = ready.repository
  const instructed = { ...session, system: joined(session.system, opened.instructions(repository)) }
  for await (const given of runtime.run(instructed, prompt, redactor.context)) {
    const batch = redactor.batch(given)
    const { events, refs } = partsOf(batch)
    if (!events.some(isFinished)) {
      yield batch
      continue
    }
    const published = await opened.publish(repository, { title: session.title, summary: textOf(events) })
    if (context.signal.aborted) return
    if (published) {
      yield { events: [published.event], refs: { repository: published.repository } }
      repository = published.repository
    }
    yield { events: withBranches(events, repository, opened.isPushed(repository)), refs: refs ?? {} }
  }
}

/** True for the end of a prompt that the agent has answered. */
const isFinished = (event: NewEvent): event is NewEventOf<'session.status_idle'> =>
  event.type === 'session.status_idle' && event.stop_reason?.type === 'end_turn'

const joined = (system: string, instructions: string): string =>
  system.trim() === '' ? instructions : `${system}\n\n${instructions}`

const textOf = (events: readonly NewEvent[]): string =>
  events
    .flatMap(event => (event.type === 'agent.message' ? event.content : []))
    .flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
    .join('\n\n')

/** Adds the branch to the event that ends the run, once it is pushed. */
function withBranches(
  events: readonly NewEvent[],
  { url, branch, pull_request }: SessionRepository,
  isPushed: boolean,
): readonly NewEvent[] {
  if (!isPushed && !pull_request) return events
  const pushed = { repoUrl: url, branch, ...(pull_request && { prUrl: pull_request.url }) }
  return events.map(event => (isFinished(event) ? { ...event, git: { branches: [pushed] } } : event))
}
