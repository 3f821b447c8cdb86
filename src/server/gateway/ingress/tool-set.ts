import { isRecord, type Json } from '../../platform/json.ts'
import { toolName } from './tool-names.ts'

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
    add(origin, { description, schema }) {
      const name = toolName(origin.name, origin.namespace)
      if (origins.has(name)) return
      origins.set(name, origin)
      wire.push({
        name,
        ...(typeof description === 'string' && description !== '' && { description }),
        input_schema: schema,
      })
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
