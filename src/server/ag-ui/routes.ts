import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { agUiRoutes, agUiVersion } from '../../contract/ag-ui.ts'
import type { AgUiRunInput } from '../../contract/ag-ui-input.ts'
import { sseFrame } from '../../contract/sse.ts'
import type { Agents } from '../agents/agents.ts'
import { routeSchema } from '../http/bind.ts'
import type { Caller } from '../http/caller.ts'
import { eventStreamHeaders, FrameWriter, heartbeatMs } from '../http/frame-writer.ts'
import { ignoredHeader, ignoredIn, ignoredValue } from '../http/ignored-fields.ts'
import { fastifyPath } from '../http/paths.ts'
import type { StreamSlots } from '../http/stream-slots.ts'
import type { WriteTurns } from '../http/write-turns.ts'
import type { Keys } from '../keys/keys.ts'
import { isRecord } from '../platform/json.ts'
import type { AgUiEvent } from './events.ts'
import type { RunLog } from './run-log.ts'
import type { StartedRun, Threads } from './threads.ts'

interface Deps {
  readonly agents: Pick<Agents, 'get'>
  readonly threads: Threads
  readonly log: RunLog
  readonly keys: Pick<Keys, 'watch'>
  readonly slots: StreamSlots
  readonly turns: WriteTurns
  readonly shutdown: AbortSignal
}

/** Serves agents to front-ends of AG-UI. */
export function serveAgUi(app: FastifyInstance, deps: Deps): void {
  const route = agUiRoutes.run
  const { response: _text, ...schema } = routeSchema(route)
  app.route({
    method: route.method,
    url: fastifyPath(route),
    config: { route },
    bodyLimit: route.bodyLimit,
    schema,
    async handler(request, reply) {
      const { agent: id } = request.params as { agent: string }
      const input = request.body as AgUiRunInput
      const { signal, close } = beginStream(deps, request.caller, reply)
      try {
        const agent = await deps.agents.get(id, request.caller)
        const started = await deps.threads.start(input, { agent, caller: request.caller })
        const run = await openRun(deps.log, started, input)
        const ignored = ignoredValue([
          ...ignoredIn(route.body, input),
          ...[...started.ignored, ...ofNoUse(input)].map(name => ({ name })),
        ])
        reply.hijack()
        reply.raw.writeHead(200, {
          ...eventStreamHeaders,
          'request-id': request.id,
          ...(ignored !== undefined && { [ignoredHeader]: ignored }),
        })
        await writeRun(reply.raw, run(signal), { turns: deps.turns, signal })
      } finally {
        close()
      }
    },
  })
}

/** Starts a stream: it ends with the process, with the key, and when the client disconnects. Taken first, so that a rejected one has no effect. */
function beginStream({ slots, keys, shutdown }: Deps, caller: Caller, reply: FastifyReply) {
  const disconnected = new AbortController()
  reply.raw.once('close', () => reply.raw.writableFinished || disconnected.abort())
  const release = slots.take(caller)
  const watched = keys.watch(caller)
  return {
    signal: AbortSignal.any([disconnected.signal, shutdown, watched.signal]),
    close() {
      watched.close()
      release()
    },
  }
}

/** Clients send an empty object by default. */
const ofNoUse = ({ forwardedProps: props }: AgUiRunInput): string[] =>
  props === undefined || props === null || (isRecord(props) && Object.keys(props).length === 0)
    ? []
    : ['forwardedProps']

/** Writes the events of a run, each after the reader has taken the one before. */
async function writeRun(
  response: ServerResponse,
  events: AsyncGenerator<AgUiEvent>,
  { turns, signal }: { readonly turns: WriteTurns; readonly signal: AbortSignal },
): Promise<void> {
  const writer = new FrameWriter(response, signal, { turns })
  const heartbeat = setInterval(() => writer.offer(': keep-alive\n\n'), heartbeatMs)
  try {
    for await (const event of events) if (!(await writer.write(sseFrame({ data: JSON.stringify(event) })))) return
  } finally {
    clearInterval(heartbeat)
    writer.end()
  }
}

/** Reads what the events of a run need, so that no stream begins that cannot go on. Returns a function that yields them. */
async function openRun(log: RunLog, { run, isNew }: StartedRun, { parentRunId, messages }: AgUiRunInput) {
  const { thread_id: threadId, run_id: runId, session_id, state } = run
  const reading = await log.begun(run)
  const others = isNew ? undefined : await log.withoutRun(run, messages)
  return async function* events(signal: AbortSignal): AsyncGenerator<AgUiEvent> {
    yield {
      type: 'RUN_STARTED',
      threadId,
      runId,
      protocolVersion: agUiVersion,
      ...(typeof parentRunId === 'string' && { parentRunId }),
      metadata: { session_id },
    }
    if (others) {
      // The run is sent again from its start, so what the client has of it is taken back first.
      yield { type: 'MESSAGES_SNAPSHOT', messages: others }
      if (state !== null) yield { type: 'STATE_SNAPSHOT', snapshot: state }
    }
    yield* log.follow(run, reading, signal)
  }
}
