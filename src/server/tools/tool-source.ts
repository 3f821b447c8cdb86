import type { NewEventOf } from '../../contract/events.ts'
import type { Log } from '../platform/log.ts'
import { untilAborted } from '../platform/until-aborted.ts'
import type { ServerContext, ToolResult } from './tool.ts'
import type { ToolPolicy } from './toolset.ts'

/** What the run passes to a call. */
export type CallContext = Pick<ServerContext, 'signal' | 'limits' | 'log'>

interface ToolFacts {
  /** Unique in a run; 1 to 128 letters, digits, `_` and `-`. */
  readonly name: string
  readonly description: string
  /** JSON Schema of the input, an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly policy: ToolPolicy
  /** True when a call changes no state, so it may run in parallel with other reads. */
  readonly reads: boolean
  /** True when a call whose result was lost may be repeated without asking the model. */
  readonly idempotent: boolean
  /** Present for a tool of an MCP server: its own name, and that of its server. */
  readonly mcp?: McpPlace
  /** True for a tool that the model sees only once it has found it with the search. */
  readonly isHidden?: boolean
}

/** A tool of an MCP server. */
export interface McpPlace {
  readonly server: string
  readonly tool: string
}

/** A tool that this process calls. */
export interface CallableTool extends ToolFacts {
  readonly call: (input: unknown, context: CallContext) => Promise<ToolResult>
}

/** Event of a call whose result comes from elsewhere; a further kind of such tools adds its event here. */
type AwaitedUse =
  | Pick<NewEventOf<'agent.custom_tool_use'>, 'type' | 'timeout_seconds'>
  | Pick<NewEventOf<'agent.tool_use'>, 'type'>

/** Result that came from elsewhere. */
export interface AwaitedResult extends ToolResult {
  /** True when an event of the log has the result; otherwise the run logs it. */
  readonly isLogged: boolean
}

/** A tool whose results come from elsewhere: the run parks until all results of a turn exist. */
export interface AwaitedTool extends ToolFacts {
  /** Type of the event of a call, and its own fields. */
  readonly use: AwaitedUse
  /** Returns why the arguments do not match the schema; undefined if they do. Such a call fails at once. */
  readonly mismatch?: (input: Readonly<Record<string, unknown>>) => Promise<string | undefined>
  /**
   * Returns the result of the call with that event; undefined while there is none, after it has parked the run. The
   * next owner of the session asks again.
   */
  readonly result: (eventId: string) => Promise<AwaitedResult | undefined>
}

/** A tool of one run, from any source. */
export type RunTool = CallableTool | AwaitedTool

/** Reports whether a client has to send the results of the tool: the session then asks for them. */
export const isClientTool = ({ use }: AwaitedTool): boolean => use.type === 'agent.custom_tool_use'

/** Reports whether results of the tool come from elsewhere. */
export const isAwaitedTool = (tool: RunTool): tool is AwaitedTool => 'result' in tool

/** Source of tools for one run. Its tools are listed once per run. */
export interface ToolSource {
  /** Name for messages, such as `built-in tools`. */
  readonly name: string
  /**
   * Lists the tools in a fixed order, because a changed list invalidates the prompt cache. `warn` adds a warning to the
   * log of the session.
   */
  list(signal: AbortSignal, warn: (warning: SourceWarning) => void): Promise<readonly RunTool[]>
}

/** What a reader of the session's log should know about the tools of a run. */
export interface SourceWarning {
  readonly type: string
  readonly message: string
}

/** The tools of one run. */
export interface RunTools {
  readonly byName: ReadonlyMap<string, RunTool>
  /** Why sources have no tools in this run, for the model. */
  readonly failures: readonly string[]
  /** Stands for a tool of a client that is no longer listed, for calls in the log. Absent where clients run no tools. */
  readonly removed?: AwaitedTool | undefined
}

/** The tools of one run as the sources have listed them. */
export interface ListedTools extends RunTools {
  /** For the log of the session, in the order of the sources. */
  readonly warnings: readonly SourceWarning[]
}

interface Listing {
  readonly signal: AbortSignal
  readonly log: Pick<Log, 'warn'>
  /** Time limit of one source in milliseconds. */
  readonly maxListMs?: number
}

const defaultListMs = 30_000

/**
 * Lists the tools of all sources, in the order of the sources. A source that fails has no tools in this run; the others
 * are unaffected. Of several tools with one name, the first source's is used.
 */
export async function toolsOfSources(sources: readonly ToolSource[], listing: Listing): Promise<ListedTools> {
  const byName = new Map<string, RunTool>()
  const failures: string[] = []
  const warnings = sources.map((): SourceWarning[] => [])
  const lists = await Promise.all(
    sources.map((source, at) => listed(source, { ...listing, warnings: warnings[at] ?? [] })),
  )
  for (const [at, tools] of lists.entries()) {
    const source = sources[at]?.name
    if (tools instanceof Error) {
      listing.log.warn({ err: tools, source }, 'cannot list the tools of a source; the run continues without them')
      failures.push(`the tools of ${source} cannot be listed: ${tools.message}`)
      continue
    }
    for (const tool of tools) {
      if (byName.has(tool.name))
        listing.log.warn({ source, tool: tool.name }, 'skipped a tool: its name is already used')
      else byName.set(tool.name, tool)
    }
  }
  return { byName, failures, warnings: warnings.flat() }
}

async function listed(
  source: ToolSource,
  { signal, maxListMs = defaultListMs, warnings }: Listing & { readonly warnings: SourceWarning[] },
) {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), maxListMs)
  try {
    const ends = AbortSignal.any([signal, limit.signal])
    const late = () => new Error(`no response within ${maxListMs / 1000} s`)
    return await untilAborted(
      source.list(ends, warning => void warnings.push(warning)),
      limit.signal,
      late,
    )
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  } finally {
    clearTimeout(timer)
  }
}
