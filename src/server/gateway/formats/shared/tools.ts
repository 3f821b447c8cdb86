import { createHash } from 'node:crypto'
import { isRecord, type Json, jsonOr, recordOf, textIn } from '../../../platform/json.ts'
import { placed } from '../../core/degradations.ts'

/** Where a tool comes from, so that its calls go back in the same form. */
export interface ToolOrigin {
  /** `function` has arguments as JSON, `custom` one text; any other is a kind of tool with calls of its own form. */
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}

interface Definition {
  readonly description?: unknown
  readonly schema: Json
  /** The client's mark that its prompt may be cached up to here; empty or absent for none. */
  readonly mark?: Json
  /** Where the client has the tool. */
  readonly path: string
  /** Given where the upstream's format can hold the model to the schema. */
  readonly strict?: boolean | undefined
}

/** The tools of a request under the names that the model gets. */
export interface ToolSet {
  /** Adds a tool; one that is there already stays as it is. */
  add(origin: ToolOrigin, definition: Definition): void
  /** Adds a tool that the provider runs itself, already in Anthropic's format. */
  addHosted(tool: Json & { readonly name: string }): void
  /** In Anthropic's format, in the order in which they were added. */
  readonly wire: readonly Json[]
  /** Whose call a call of that name is. A name that nobody offered is taken for a function's. */
  originOf(name: string): ToolOrigin
}

/** The schema of a tool whose input is one text. */
export const textSchema: Json = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The raw text that the tool takes.' } },
  required: ['input'],
}

export function createToolSet(): ToolSet {
  const origins = new Map<string, ToolOrigin>()
  const wire: Json[] = []
  return {
    wire,
    add(origin, { description, schema, mark, strict, path }) {
      const name = toolName(origin.name, origin.namespace)
      if (origins.has(name)) return
      origins.set(name, origin)
      const tool = {
        name,
        ...(typeof description === 'string' && description !== '' && { description }),
        input_schema: schema,
        ...(strict !== undefined && { strict }),
        ...mark,
      }
      wire.push(placed(tool, path))
    },
    addHosted(tool) {
      if (origins.has(tool.name)) return
      origins.set(tool.name, { kind: 'hosted', name: tool.name })
      wire.push(tool)
    },
    originOf: name => origins.get(name) ?? { kind: 'function', name },
  }
}

/** A schema of parameters as Anthropic's format wants it: always of an object. */
export const objectSchema = (parameters: unknown): Json =>
  isRecord(parameters) ? { type: 'object', ...parameters } : { type: 'object', properties: {} }

/** What a model is told of a tool that takes text of a certain grammar. */
export function customDescription(description: unknown, grammar: Json): string {
  const { syntax, definition } = grammar
  const text = typeof description === 'string' ? description : ''
  const rule =
    typeof definition === 'string' ? `Its input must follow this ${String(syntax)} grammar:\n${definition}` : ''
  return [text, rule].filter(part => part !== '').join('\n\n')
}

interface Choice {
  /** `auto`, `none`, `required` or an object; undefined when the request does not choose. */
  readonly choice: unknown
  /** The name that the model knows, when the choice names a tool. */
  readonly named: string | undefined
  readonly isParallel: boolean
  readonly hasTools: boolean
}

/** `tool_choice` in Anthropic's format; nothing without tools, where it would be refused. */
export function toolChoice({ choice, named, isParallel, hasTools }: Choice): Json {
  if (!hasTools) return {}
  const serial = isParallel ? {} : { disable_parallel_tool_use: true }
  if (choice === 'none') return { tool_choice: { type: 'none' } }
  if (named !== undefined) return { tool_choice: { type: 'tool', name: named, ...serial } }
  if (choice === 'required') return { tool_choice: { type: 'any', ...serial } }
  return choice === 'auto' || !isParallel ? { tool_choice: { type: 'auto', ...serial } } : {}
}

const fingerprint = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8)

/** `id` as Anthropic's format allows ids of calls. The same for equal ids, so that call and result still meet. */
export const toolCallId = (id: string): string =>
  /^[a-zA-Z0-9_-]+$/.test(id) ? id : `${id.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}_${fingerprint(id)}`

/** The name of a tool as the model knows it: one inside a namespace carries that in front. */
export const toolName = (name: string, namespace?: string): string =>
  namespace === undefined ? name : `${namespace}__${name}`

/** Reads the text out of the JSON `{"input": "..."}` while it is still coming. */
export interface CustomInput {
  /** Takes more of the JSON; returns what it adds to the text. */
  push(json: string): string
  /** The JSON is complete: the rest of the text. */
  end(): string
  /** The text so far. */
  readonly text: string
}

/** A wrapping that begins later than this is read at the end: each piece would be searched from the start again. */
const maxOpeningLength = 1_000
const opening = /^\s*\{\s*"input"\s*:\s*"/

/** A model that wraps its text otherwise is read at the end; what it wrote is the text then. */
export function createCustomInput(): CustomInput {
  let json = ''
  /** The place behind what was decoded; undefined before the text has begun. */
  let at: number | undefined
  let isClosed = false
  let text = ''

  const decodeMore = (): string => {
    if (at === undefined || isClosed) return ''
    const { end, closed } = safeEnd(json, at)
    const added = textIn(jsonOr(`"${json.slice(at, end)}"`, '')) ?? ''
    at = end
    isClosed = closed
    text += added
    return added
  }

  return {
    get text() {
      return text
    },
    push(more) {
      json += more
      if (at === undefined && json.length - more.length < maxOpeningLength) at = opening.exec(json)?.[0].length
      return decodeMore()
    },
    end() {
      const value = jsonOr(json, undefined)
      const whole = textIn(recordOf(value)['input']) ?? (text === '' ? json : text)
      const rest = whole.startsWith(text) ? whole.slice(text.length) : ''
      text += rest
      return rest
    },
  }
}

/** How far the string at `from` can be decoded: never into half an escape, nor half a pair of surrogates. */
function safeEnd(json: string, from: number): { readonly end: number; readonly closed: boolean } {
  let at = from
  while (at < json.length) {
    const character = json[at]
    if (character === '"') return { end: at, closed: true }
    const length = character === '\\' ? escapeLength(json, at) : 1
    if (at + length > json.length) break
    at += length
  }
  return { end: at, closed: false }
}

/** Characters of the escape at `at`; a pair of surrogates counts as one escape. */
function escapeLength(json: string, at: number): number {
  if (at + 1 < json.length && json[at + 1] !== 'u') return 2
  const isHigh = /^\\u[dD][89abAB]/.test(json.slice(at, at + 4))
  return isHigh ? 12 : 6
}
