import type { Static, TObject } from 'typebox'
import Value from 'typebox/value'
import type { TextBlock } from '../../contract/events.ts'
import type { Memory } from '../../contract/memories.ts'
import type { ByteGate } from '../platform/byte-gate.ts'
import { AppError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { isShortOfFiles, shortOfFiles } from '../platform/open-files.ts'
import type { Sandbox } from '../sandboxes/sandbox.ts'
import type { Jobs } from './jobs.ts'
import { boundedText } from './large-results.ts'
import type { Web } from './web/web.ts'

/** An image or a document of a result, as a block of the Messages API. */
export type MediaBlock = {
  readonly type: 'image' | 'document'
  readonly source: { readonly type: 'base64'; readonly media_type: string; readonly data: string }
  readonly text?: never
}

/** Reports whether a block of a stored result is an image or a document for the model. */
export const isMediaBlock = (block: object): block is MediaBlock =>
  'type' in block && (block.type === 'image' || block.type === 'document') && 'source' in block

/** Result for the model. The content is never empty, because some models reject an empty result. */
export interface ToolResult {
  readonly content: readonly (TextBlock | MediaBlock)[]
  readonly is_error: boolean
}

/** Result without media. */
export interface TextResult extends ToolResult {
  readonly content: readonly TextBlock[]
}

export interface ToolLimits {
  /** Characters of one result; a longer one is written to a file of the workspace. */
  readonly resultChars: number
  /** Characters of a longer result that the model gets with the path of the file. */
  readonly previewChars: number
}

/** Returns the result of a call that failed. */
export const failureResult = (text: string): TextResult => ({ content: [{ type: 'text', text }], is_error: true })

/** About 16,000 and 4,000 tokens (our choice). */
export const defaultToolLimits: ToolLimits = { resultChars: 65_536, previewChars: 16_384 }

/** Memory that the tools of all sessions of a process may use at once. */
export const toolMemoryBytes = 256 * 1024 * 1024

/** The memories of the session's agent. */
export interface ToolMemories {
  /** Saves a memory. `isNew` is false when the agent already has one with the same text, which stays unchanged. */
  save(memory: Pick<Memory, 'text' | 'tags' | 'type' | 'priority'>): Promise<{ memory: Memory; isNew: boolean }>
  /** Searches memories and counts the results as applied. */
  search(wanted: {
    readonly query: string
    readonly tag: string | undefined
    readonly limit: number
  }): Promise<readonly Memory[]>
}

/** Context of a tool that needs no sandbox. */
export interface ServerContext {
  /** Absent when the session has no agent. */
  readonly memories?: ToolMemories | undefined
  /** Aborts when the run is interrupted: the call then ends at once with an error result. */
  readonly signal: AbortSignal
  readonly limits: ToolLimits
  /** Takes results that are too long. Absent for tools without a workspace; such a result is cut. */
  readonly sandbox?: Sandbox
  /** Limits the memory of concurrent calls. Absent where no tool declares `memoryBytes`. */
  readonly memory?: ByteGate
  readonly log: Pick<Log, 'error'>
}

/** Which media the model of the run accepts. */
export interface ModelInputs {
  readonly images: boolean
  readonly documents: boolean
}

/** What the tools of one run share. */
export interface RunServices {
  readonly jobs: Jobs
  readonly model: ModelInputs & { readonly name: string }
  readonly web: Web
}

export interface ToolContext extends ServerContext, RunServices {
  readonly sandbox: Sandbox
  readonly memory: ByteGate
}

/** A tool that a model can call. */
export interface Tool<Context extends ServerContext = ToolContext> {
  readonly name: string
  readonly description: string
  /** JSON Schema of the input, an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** True when a call whose result was lost may be repeated without asking the model. */
  readonly idempotent: boolean
  /** True when a call changes no state, so it may run in parallel with other reads. */
  readonly reads: boolean
  /** Never rejects: invalid input and failures become results with a message. */
  run(input: unknown, context: Context): Promise<ToolResult>
}

interface ToolSpec<Input extends TObject, Context extends ServerContext> {
  readonly name: string
  readonly description: string
  readonly input: Input
  readonly idempotent: boolean
  /** Default false. */
  readonly reads?: boolean
  /** Maximum memory of a call in addition to its input. Absent for tools that do their work outside of this process. */
  readonly memoryBytes?: (input: Static<Input>) => number
  readonly run: (input: Static<Input>, context: Context) => Promise<Answer>
}

/** Text for the model, and whether it reports a failure. */
export interface Answer {
  readonly text: string
  readonly isError: boolean
  /** True when the text lacks a part in its middle. */
  readonly isPartial?: boolean
  /** Follows the text. */
  readonly media?: MediaBlock
}

/** Returns a successful answer. */
export const done = (text: string): Answer => ({ text, isError: false })

/** Returns a failed answer. */
export const failed = (text: string): Answer => ({ text, isError: true })

/** Defines a tool whose input is validated before `run`, and whose errors become results. */
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
      const bounded = await boundedText({ ...answer, text: clean(answer.text) }, context)
      const text = { type: 'text', text: bounded.trim() === '' ? '(no output)' : bounded } as const
      return { content: answer.media ? [text, answer.media] : [text], is_error: answer.isError }
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
    const { memory } = context
    return spec.memoryBytes && memory ? await memory.run(spec.memoryBytes(input), context.signal, run) : await run()
  } catch (error) {
    if (context.signal.aborted) return failed('cancelled')
    if (error instanceof AppError && error.code !== 'internal') return failed(error.message)
    if (isShortOfFiles(error)) return failed(shortOfFiles)
    // The model can continue without this tool, but the operator must see why it failed.
    context.log.error({ err: error, tool: spec.name }, 'tool failed')
    return failed(error instanceof AppError ? error.message : 'tool failed: internal error of the server')
  }
}

/** Returns `<tool>: <field> must be ...` for the first invalid field. */
function inputFault(
  { name, input: schema }: { readonly name: string; readonly input: TObject },
  input: unknown,
): string {
  const [fault] = Value.Errors(schema, input)
  const field = fault?.instancePath.slice(1).replaceAll('/', '.')
  return `invalid input for ${name}: ${field || 'input'} ${fault?.message ?? 'does not fit the schema'}`
}

/** PostgreSQL text cannot contain NUL characters or lone surrogates. */
const clean = (text: string): string => text.toWellFormed().replaceAll('\0', '\u{fffd}')
