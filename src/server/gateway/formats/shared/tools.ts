import { createHash } from 'node:crypto'
import { isRecord, type Json, jsonOr, recordOf, textIn, textOf } from '../../../platform/json.ts'
import { placed } from '../../core/degradations.ts'

/** The client's tool behind a canonical tool. Its calls are written in the form of this tool. */
export interface ToolOrigin {
  /** `function` takes JSON arguments, `custom` takes one text; other kinds have their own call items. */
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}

interface Definition {
  readonly description?: unknown
  readonly schema: Json
  /** The client's cache mark; empty or absent without a mark. */
  readonly mark?: Json
  /** Path of the tool in the client's request. */
  readonly path: string
  /** Set only if the upstream's format can enforce the schema. */
  readonly strict?: boolean | undefined
}

/** Tools of a request, with the names sent to the model. */
export interface ToolSet {
  /** Adds a tool. A tool whose name exists already is ignored. */
  add(origin: ToolOrigin, definition: Definition): void
  /** Adds a tool that the provider runs, in Anthropic's format. */
  addHosted(tool: Json & { readonly name: string }): void
  /** Tool definitions in Anthropic's format, in the order of their addition. */
  readonly definitions: readonly Json[]
  /** Returns the client's tool for the name of a call. Unknown names are treated as functions. */
  originOf(name: string): ToolOrigin
}

/** Schema of a tool whose input is one text. */
export const textSchema: Json = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The raw text that the tool takes.' } },
  required: ['input'],
}

export function createToolSet(): ToolSet {
  const origins = new Map<string, ToolOrigin>()
  const definitions: Json[] = []
  return {
    definitions,
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
      definitions.push(placed(tool, path))
    },
    addHosted(tool) {
      if (origins.has(tool.name)) return
      origins.set(tool.name, { kind: 'hosted', name: tool.name })
      definitions.push(tool)
    },
    originOf: name => origins.get(name) ?? { kind: 'function', name },
  }
}

/** Returns the text for a `tool_reference`, a tool that the client's tool search found. */
export const toolReferenceText = (block: Json): string => `Tool found: ${textOf(block['tool_name'])}`

/** Returns a schema of parameters with type object, which Anthropic's format requires. */
export const objectSchema = (parameters: unknown): Json =>
  isRecord(parameters)
    ? { type: 'object', ...parameters, ...(parameters['properties'] === null && { properties: {} }) }
    : { type: 'object', properties: {} }

/** Returns the description of a custom tool, including the grammar of its input. */
export function customDescription(description: unknown, grammar: Json): string {
  const { syntax, definition } = grammar
  const text = typeof description === 'string' ? description : ''
  const rule =
    typeof definition === 'string' ? `Its input must follow this ${String(syntax)} grammar:\n${definition}` : ''
  return [text, rule].filter(part => part !== '').join('\n\n')
}

interface Choice {
  /** `auto`, `none`, `required`, `any` or an object; undefined when the request does not choose. */
  readonly choice: unknown
  /** Name sent to the model, when the choice selects a tool. */
  readonly named: string | undefined
  readonly isParallel: boolean
  readonly hasTools: boolean
}

/** Returns `tool_choice` in Anthropic's format; an empty object without tools, because upstreams would reject it. */
export function toolChoice({ choice, named, isParallel, hasTools }: Choice): Json {
  if (!hasTools) return {}
  const serial = isParallel ? {} : { disable_parallel_tool_use: true }
  if (choice === 'none') return { tool_choice: { type: 'none' } }
  if (named !== undefined) return { tool_choice: { type: 'tool', name: named, ...serial } }
  // Mistral's API calls it `any`.
  if (choice === 'required' || choice === 'any') return { tool_choice: { type: 'any', ...serial } }
  return choice === 'auto' || !isParallel ? { tool_choice: { type: 'auto', ...serial } } : {}
}

const fingerprint = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8)

/** Returns the id with only the characters that Anthropic's format allows. Equal ids give equal results. */
export const toolCallId = (id: string): string =>
  /^[a-zA-Z0-9_-]+$/.test(id) ? id : `${id.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}_${fingerprint(id)}`

/** Returns an id of exactly nine letters and digits, which Mistral requires. Equal ids give equal results. */
export const nineCharacterId = (id: string): string =>
  /^[a-zA-Z0-9]{9}$/.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, 9)

/** Returns the name sent to the model: `namespace__name` for a tool in a namespace. */
export const toolName = (name: string, namespace?: string): string =>
  namespace === undefined ? name : `${namespace}__${name}`

/** Incremental reader of the text in the JSON `{"input": "..."}`. */
export interface CustomInput {
  /** Adds a chunk of the JSON. Returns the text in it. */
  push(json: string): string
  /** Ends the JSON. Returns the rest of the text. */
  end(): string
  /** The text so far. */
  readonly text: string
}

/** Characters searched for the opening, since each chunk repeats the search. A later one is read at the end. */
const maxOpeningLength = 1_000
const opening = /^\s*\{\s*"input"\s*:\s*"/

/** Creates a reader. If the model wraps its text differently, the whole JSON is returned as the text at the end. */
export function createCustomInput(): CustomInput {
  let json = ''
  /** Index after the decoded text; undefined before the text begins. */
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

/** Returns the end of the decodable text at `from`. It never splits an escape or a surrogate pair. */
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

/** Returns the length of the escape at `at` in characters. A surrogate pair counts as one escape. */
function escapeLength(json: string, at: number): number {
  if (at + 1 < json.length && json[at + 1] !== 'u') return 2
  const isHigh = /^\\u[dD][89abAB]/.test(json.slice(at, at + 4))
  return isHigh ? 12 : 6
}
