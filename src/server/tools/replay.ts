import { isDeepStrictEqual } from 'node:util'
import { failureResult, type MediaBlock, type ToolResult } from './tool.ts'
import type { CallableTool, RunTool, RunTools } from './tool-source.ts'

/** Result of a tool call as the log of a session has it. */
export interface RecordedCall {
  /** As the model calls it. */
  readonly name: string
  readonly input: unknown
  readonly content: readonly (MediaBlock | { readonly type: 'text'; readonly text: string })[]
  readonly is_error: boolean
}

/** What a session of a replay gets instead of tools. */
export interface Recording {
  readonly calls: readonly RecordedCall[]
  /** Reports a call without a recorded result. */
  readonly onDiverged: () => Promise<void>
}

/** True for a session that replays recorded results: its environment says so. */
export const isReplay = ({ source, replay }: Readonly<Record<string, unknown>>): boolean =>
  source === experimentSource && replay === true

/** `environment.source` of the sessions of experiments. */
export const experimentSource = 'experiment'

/** Result of a call that the recording does not have. */
export const notRecorded = (name: string): ToolResult =>
  failureResult(`no recorded result for this call of ${name}; recorded results answer all calls of this session`)

/**
 * The recorded results that are not used yet. A call gets the first result of its tool with equal arguments, else the
 * first one of its tool; each result is used once.
 */
export class RecordedResults {
  readonly #left: RecordedCall[]

  constructor(calls: readonly RecordedCall[]) {
    this.#left = [...calls]
  }

  /** Returns the result of a call, and uses it up; undefined when there is none. */
  take(name: string, input: unknown): RecordedCall | undefined {
    const equal = this.#left.findIndex(call => call.name === name && isDeepStrictEqual(call.input, input))
    const at = equal >= 0 ? equal : this.#left.findIndex(call => call.name === name)
    return at >= 0 ? this.#left.splice(at, 1)[0] : undefined
  }
}

/**
 * Returns the tools with recorded results instead of calls. A call has no effect, so it may be repeated. One that a person
 * would have to allow gets its result at once: the recording shows that it was allowed.
 */
export function replayedTools<Tools extends RunTools>(
  tools: Tools,
  results: RecordedResults,
  recording: Recording,
): Tools {
  const replayed = (tool: RunTool): CallableTool => {
    const { name, description, inputSchema, policy, mcp, isHidden } = tool
    return {
      ...{ name, description, inputSchema, reads: true, idempotent: true },
      policy: policy === 'ask' ? 'allow' : policy,
      ...(mcp && { mcp }),
      ...(isHidden && { isHidden }),
      async call(input) {
        const found = results.take(name, input)
        if (found) return { content: found.content, is_error: found.is_error }
        await recording.onDiverged()
        return notRecorded(name)
      },
    }
  }
  return { ...tools, byName: new Map([...tools.byName].map(([name, tool]) => [name, replayed(tool)])) }
}
