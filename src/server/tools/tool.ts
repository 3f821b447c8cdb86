import type { Static, TObject } from 'typebox'
import Value from 'typebox/value'
import type { TextBlock } from '../../contract/events.ts'
import type { Memory } from '../../contract/memories.ts'
import { ByteGate } from '../platform/byte-gate.ts'
import { AppError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { Sandbox } from '../sandboxes/sandbox.ts'
import { capText } from './cap-text.ts'

/** What the model gets back. A result is never empty: some models refuse an empty one. */
export interface ToolResult {
  readonly content: readonly TextBlock[]
  readonly is_error: boolean
}

export interface ToolLimits {
  /** Characters of one result; the middle of a longer one is cut out. */
  readonly resultChars: number
}

/** Our choice: about 16,000 tokens. */
export const defaultToolLimits: ToolLimits = { resultChars: 65_536 }

/** What the tools of all sessions may hold at once, in this process. */
export const toolMemory = new ByteGate(256 * 1024 * 1024)

/** The memories of the session's agent. */
export interface ToolMemories {
  /** Not new: the agent has a memory with this very text, which stays as it is. */
  save(memory: Pick<Memory, 'text' | 'tags' | 'type' | 'priority'>): Promise<{ memory: Memory; isNew: boolean }>
  /** Counts what it finds as applied. */
  search(wanted: {
    readonly query: string
    readonly tag: string | undefined
    readonly limit: number
  }): Promise<readonly Memory[]>
}

/** What a tool gets that needs no sandbox. */
export interface ServerContext {
  /** Absent where the session has no agent. */
  readonly memories?: ToolMemories | undefined
  /** Aborted when the run is interrupted: the call then ends at once with an error result. */
  readonly signal: AbortSignal
  readonly limits: ToolLimits
  readonly log: Pick<Log, 'error'>
}

export interface ToolContext extends ServerContext {
  readonly sandbox: Sandbox
}

/** Something that a model can call. */
export interface Tool<Context extends ServerContext = ToolContext> {
  readonly name: string
  readonly description: string
  /** JSON Schema of the input, an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** True when a call whose result was lost may be made again without asking the model. */
  readonly idempotent: boolean
  /** True when a call changes nothing, so it may run beside other reads. */
  readonly reads: boolean
  /** Never rejects: wrong input and failures are results that say what was wrong. */
  run(input: unknown, context: Context): Promise<ToolResult>
}

interface ToolSpec<Input extends TObject, Context extends ServerContext> {
  readonly name: string
  readonly description: string
  readonly input: Input
  readonly idempotent: boolean
  /** False unless given. */
  readonly reads?: boolean
  /** The most memory that a call needs beside its input. Absent for tools whose work is outside of this process. */
  readonly holdsBytes?: (input: Static<Input>) => number
  readonly run: (input: Static<Input>, context: Context) => Promise<Answer>
}

/** A text for the model, and whether it reports a failure. */
export interface Answer {
  readonly text: string
  readonly isError: boolean
}

/** An answer that reports success. */
export const done = (text: string): Answer => ({ text, isError: false })

/** An answer that reports a failure. */
export const failed = (text: string): Answer => ({ text, isError: true })

/** A tool whose input is checked before `run` sees it, and whose refusals become results. */
export function defineTool<const Input extends TObject, Context extends ServerContext = ToolContext>(
  spec: ToolSpec<Input, Context>,
): Tool<Context> {
  return {
    name: spec.name,
    description: spec.description,
    inputSchema: Object.fromEntries(Object.entries(spec.input)),
    idempotent: spec.idempotent,
    reads: spec.reads ?? false,
    async run(input, context) {
      const answer = context.signal.aborted ? failed('cancelled') : await attempt(spec, input, context)
      const text = capText(clean(answer.text), context.limits.resultChars)
      return { content: [{ type: 'text', text: text.trim() === '' ? '(no output)' : text }], is_error: answer.isError }
    },
  }
}

async function attempt<Input extends TObject, Context extends ServerContext>(
  spec: ToolSpec<Input, Context>,
  input: unknown,
  context: Context,
): Promise<Answer> {
  try {
    if (!Value.Check(spec.input, input)) return failed(inputFault(spec, input))
    const run = () => spec.run(input, context)
    return spec.holdsBytes ? await toolMemory.hold(spec.holdsBytes(input), context.signal, run) : await run()
  } catch (error) {
    if (context.signal.aborted) return failed('cancelled')
    if (error instanceof AppError && error.code !== 'internal') return failed(error.message)
    if (isShortOfFiles(error)) return failed('the server has reached its limit of open files; try again later')
    // The model can go on without this tool; the operator has to see why it failed.
    context.log.error({ err: error, tool: spec.name }, 'tool failed')
    return failed(error instanceof AppError ? error.message : 'the tool failed because of an error in the server')
  }
}

const isShortOfFiles = (error: unknown): boolean =>
  ['EMFILE', 'ENFILE'].includes((error as NodeJS.ErrnoException).code ?? '')

/** `<tool>: <field> must be ...`, for the first field that is wrong. */
function inputFault(
  { name, input: schema }: { readonly name: string; readonly input: TObject },
  input: unknown,
): string {
  const [fault] = Value.Errors(schema, input)
  const field = fault?.instancePath.slice(1).replaceAll('/', '.')
  return `invalid input for ${name}: ${field || 'input'} ${fault?.message ?? 'does not fit the schema'}`
}

/** The database's text cannot hold a NUL character. */
const clean = (text: string): string => text.replaceAll('\0', '\u{fffd}')
