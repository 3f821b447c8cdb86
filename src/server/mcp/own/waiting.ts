import type { OpenTask, TaskLog } from '../../a2a/task-log.ts'
import { AppError } from '../../platform/errors.ts'
import { type Json, listOf, recordOf, textIn, textOf } from '../../platform/json.ts'
import type { RpcMessage } from '../client/json-rpc.ts'
import { isModern } from '../client/modern-request.ts'
import { elicits } from './capabilities.ts'
import { failed, obstacleOf, requestsFor, toolResultOf } from './task-object.ts'

/** How a client waits for a task. */
export interface Wait {
  readonly message: RpcMessage
  /** True if a client of an older revision answers questions during a call. */
  readonly canAnswer: boolean
  /** Ends the wait, not the task. */
  readonly signal: AbortSignal
  /** Sends a message to the client before the response. */
  readonly notify: (message: Json) => void
}

const heartbeatMs = 10_000
const maxProgressChars = 500

/**
 * Waits until a task ends and returns the result of its call. Questions go to the client: a modern one gets them as a result and
 * repeats its request with the answers; an older one gets requests during the call; others wait until someone answers
 * elsewhere. Throws `unavailable` when the wait ends before the task.
 */
export async function waitedFor(
  task: OpenTask,
  { message, canAnswer, signal, notify }: Wait,
  { log, agentName }: { readonly log: Pick<TaskLog, 'untilOver'>; readonly agentName: string },
): Promise<Json> {
  const report = progressReporter(message, notify)
  const asksByResult = isModern(message) && elicits(message)
  const asked = new Set<string>()
  const { row, reading } = task
  const isRepeated = recordOf(message['params'])['requestState'] !== undefined

  function reportWritten(): void {
    for (const artifact of reading.task(0).artifacts ?? []) report(textOfArtifact(artifact) ?? 'working')
  }
  function askDuringCall(): void {
    for (const [id, input] of Object.entries(requestsFor(task, agentName))) {
      if (asked.has(id)) continue
      asked.add(id)
      report(input.params.message)
      if (canAnswer) notify({ jsonrpc: '2.0', id: questionId(row.id, id), ...input })
    }
  }
  function mustReturn(): boolean {
    if (asksByResult) return reading.questions.length > 0 || obstacleOf(task) !== undefined
    askDuringCall()
    return obstacleOf(task) !== undefined
  }

  // What the agent wrote before this wait. A repeated request follows one that has reported it.
  if (!isRepeated) reportWritten()
  const heartbeat = setInterval(() => report('working'), heartbeatMs)
  try {
    if (!mustReturn()) {
      for await (const change of log.untilOver(task, { signal })) {
        report(textOfChange(recordOf(change)) ?? 'working')
        if (mustReturn()) break
      }
    }
  } finally {
    clearInterval(heartbeat)
  }
  if (reading.isOver) return toolResultOf(task)
  const obstacle = obstacleOf(task)
  if (obstacle !== undefined) return failed(obstacle, { session_id: row.session_id, prompt_id: row.id })
  if (asksByResult && reading.questions.length > 0)
    return { resultType: 'input_required', inputRequests: requestsFor(task, agentName), requestState: row.id }
  throw new AppError('unavailable', `the wait for session ${row.session_id} ended; read its result with get_result`)
}

/** Returns a function that sends progress, if the client asked for it. The number must increase. Source: MCP, progress. */
function progressReporter({ params }: RpcMessage, notify: Wait['notify']): (text: string) => void {
  const progressToken = recordOf(recordOf(params)['_meta'])['progressToken']
  let progress = 0
  return text => {
    if (progressToken === undefined) return
    progress += 1
    const shown = text.slice(0, maxProgressChars)
    notify({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress, message: shown } })
  }
}

/** Returns the text of a message of the agent. */
const textOfChange = (change: Json): string | undefined =>
  textOfArtifact(recordOf(recordOf(change['artifactUpdate'])['artifact']))

const textOfArtifact = ({ parts }: { readonly parts?: unknown }): string | undefined =>
  textIn(recordOf(listOf(parts)[0])['text'])

const prefix = 'question'

/** Returns the id of the request that asks a question, from which any process knows what its response answers. */
const questionId = (taskId: string, question: string): string => [prefix, taskId, question].join(':')

/** Returns the question that a response answers; undefined for ids of other requests. */
export function questionIn(id: unknown): { readonly taskId: string; readonly question: string } | undefined {
  const [kind, taskId, question] = textOf(id).split(':')
  return kind === prefix && taskId && question ? { taskId, question } : undefined
}
