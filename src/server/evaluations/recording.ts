import { type CaseFileWrite, type CaseSource, maxCaseFileBytes, maxRecordedBytes } from '../../contract/datasets.ts'
import { budgetReached, endsRun, isOfThread, type SessionEvent, textOfBlock } from '../../contract/events.ts'
import type { FilePart } from '../../contract/prompt-files.ts'
import type { Caller } from '../http/caller.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { mcpToolName } from '../tools/mcp-toolset.ts'
import type { RecordedCall } from '../tools/replay.ts'
import { isMediaBlock } from '../tools/tool.ts'

interface Deps {
  readonly sessions: Pick<Sessions, 'withLog'>
  readonly events: Pick<EventStore, 'list' | 'seqOfPrompt'>
  /** Returns the content of a file of a prompt. */
  readonly fileContent: (sessionId: string, file: FilePart) => Promise<Buffer>
}

/** What a case takes from a prompt of a session. */
export interface Copied {
  readonly prompts: readonly string[]
  readonly files: readonly CaseFileWrite[]
  readonly recorded: readonly RecordedCall[]
}

const pageSize = 1_000
const types = [
  'user.message',
  'session.status_running',
  'session.status_idle',
  'session.error',
  'session.prompt_ended',
  'agent.tool_use',
  'agent.mcp_tool_use',
  'agent.custom_tool_use',
  'agent.tool_result',
  'agent.mcp_tool_result',
  'user.custom_tool_result',
]

/** Returns a function that copies a prompt of a session. Throws `not_found` and `invalid_request`. */
export function createCopy({ sessions, events, fileContent }: Deps) {
  async function* log(sessionId: string, from: number): AsyncGenerator<SessionEvent> {
    for (let after = from; ; ) {
      const { data, hasMore } = await events.list({ sessionId, after, limit: pageSize, order: 'asc', types })
      yield* data
      const last = data.at(-1)
      if (!hasMore || !last) return
      after = last.seq
    }
  }

  async function contentOf(sessionId: string, parts: readonly FilePart[]): Promise<CaseFileWrite[]> {
    if (parts.reduce((sum, { size }) => sum + size, 0) > maxCaseFileBytes)
      throw invalid(`the files of the prompt exceed ${maxCaseFileBytes} bytes`)
    const files: CaseFileWrite[] = []
    for (const part of parts) {
      const data = (await fileContent(sessionId, part)).toString('base64')
      files.push({ name: part.name, media_type: part.media_type, data })
    }
    return files
  }

  return async ({ session_id, prompt_id }: CaseSource, caller: Caller): Promise<Copied> => {
    await sessions.withLog(session_id, caller)
    const start = await events.seqOfPrompt(session_id, prompt_id)
    if (start === undefined) throw notFound('prompt', prompt_id)
    const reader = new PromptReader(prompt_id)
    for await (const event of log(session_id, start - 1)) {
      reader.add(event)
      if (reader.isOver) break
    }
    const { text, files, calls, isOver } = reader
    if (!isOver) throw new AppError('conflict', `prompt ${prompt_id} has not ended; add it once it has`)
    if (text.trim() === '') throw invalid(`prompt ${prompt_id} has no text`)
    if (Buffer.byteLength(JSON.stringify(calls)) > maxRecordedBytes)
      throw invalid(`the tool results of prompt ${prompt_id} exceed ${maxRecordedBytes} bytes`)
    return { prompts: [text], files: await contentOf(session_id, files), recorded: calls }
  }
}

interface OpenCall {
  /** Id of its event, and that of the runtime: results name one or the other. */
  readonly ids: readonly (string | undefined)[]
  readonly name: string
  readonly input: unknown
  result?: Pick<RecordedCall, 'content' | 'is_error'>
}

/** Collects what belongs to one prompt: other prompts of the session may be queued or run before it ends. */
class PromptReader {
  readonly #promptId: string
  readonly #calls: OpenCall[] = []
  #isRunning = false
  text = ''
  files: readonly FilePart[] = []
  isOver = false

  constructor(promptId: string) {
    this.#promptId = promptId
  }

  /** Results in the order of their calls. Calls without a result are left out. */
  get calls(): RecordedCall[] {
    return this.#calls.flatMap(({ name, input, result }) => (result ? [{ name, input, ...result }] : []))
  }

  add(event: SessionEvent): void {
    if (isOfThread(event)) return
    if (event.type === 'user.message' && event.prompt_id === this.#promptId) this.#begin(event.content)
    if (event.type === 'session.status_running' && event.prompt_id === this.#promptId) this.#isRunning = true
    if (this.#isEnd(event)) this.isOver = true
    if (this.#isRunning) this.#addCall(event)
  }

  #begin(content: readonly object[]): void {
    const parts = content as readonly ({ type: 'text'; text: string } | FilePart)[]
    this.text = parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
    this.files = parts.filter(part => part.type === 'file')
  }

  /** A run that a budget stopped continues later. */
  #isEnd(event: SessionEvent): boolean {
    if (event.prompt_id !== this.#promptId) return false
    return event.type === 'session.prompt_ended' || (endsRun(event) && !budgetReached(event))
  }

  #addCall(event: SessionEvent): void {
    switch (event.type) {
      case 'agent.tool_use':
      case 'agent.custom_tool_use':
        this.#open(event, event.name)
        break
      case 'agent.mcp_tool_use':
        this.#open(event, mcpToolName(event.mcp_server_name ?? '', event.name))
        break
      case 'agent.tool_result':
        this.#answer(event.tool_use_id, event)
        break
      case 'agent.mcp_tool_result':
        this.#answer(event.mcp_tool_use_id, event)
        break
      case 'user.custom_tool_result':
        this.#answer(event.custom_tool_use_id, event)
        break
      default:
    }
  }

  #open({ id, tool_use_id, input }: Pick<SessionEvent, 'id' | 'tool_use_id' | 'input'>, name: string): void {
    this.#calls.push({ ids: [id, tool_use_id], name, input })
  }

  #answer(id: string | undefined, { content = [], is_error = false }: Result): void {
    const call = this.#calls.find(each => id !== undefined && each.ids.includes(id))
    if (call) call.result = { content: content.flatMap(blockOf), is_error }
  }
}

interface Result {
  readonly content?: readonly object[] | undefined
  readonly is_error?: boolean | undefined
}

function blockOf(block: object): RecordedCall['content'][number][] {
  if (isMediaBlock(block)) return [block]
  const text = textOfBlock(block)
  return text === undefined ? [] : [{ type: 'text', text }]
}
