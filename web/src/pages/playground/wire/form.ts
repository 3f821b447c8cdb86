import { type Fields, isRecord, parseJson } from '../../../data/json.ts'

/** Formats of the API in which the playground calls models, the default first. */
export const formats = ['messages', 'chat', 'responses'] as const
export type Format = (typeof formats)[number]

export const formatNames: Readonly<Record<Format, string>> = {
  messages: 'Messages',
  chat: 'Chat Completions',
  responses: 'Responses',
}

/** Content of a turn, in the vocabulary of Messages: `text`, `image`, `tool_use`, `tool_result`, `thinking` and others. */
export interface Block extends Fields {
  readonly type: string
}

export type Role = 'user' | 'assistant'

export interface Turn {
  /** Of the row in the form; it is not sent. */
  readonly id: string
  readonly role: Role
  readonly content: readonly Block[]
}

/** `default` leaves the field out of the request. */
export const thinkingKinds = ['default', 'adaptive', 'enabled', 'disabled'] as const
export type ThinkingKind = (typeof thinkingKinds)[number]

/** What all models of the playground get. Texts of JSON stay as typed. */
export interface PlaygroundForm {
  readonly system: string
  readonly turns: readonly Turn[]
  readonly maxTokens: number | undefined
  readonly temperature: number | undefined
  readonly thinking: ThinkingKind
  readonly thinkingBudget: number | undefined
  /** Empty leaves the field out of the request. */
  readonly effort: string
  readonly tools: string
  readonly schema: string
  readonly others: string
}

export const emptyForm: PlaygroundForm = {
  system: '',
  turns: [{ id: 'first', role: 'user', content: [] }],
  maxTokens: 1024,
  temperature: undefined,
  thinking: 'default',
  thinkingBudget: 2048,
  effort: '',
  tools: '',
  schema: '',
  others: '',
}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

export const isBlock = (value: unknown): value is Block => isRecord(value) && typeof value['type'] === 'string'

/** Returns the text of the `text` blocks. */
export const textOfBlocks = (content: readonly Block[]): string =>
  content
    .filter(({ type }) => type === 'text')
    .map(block => textOf(block['text']))
    .join('\n')

/** Returns the content with its text replaced; other blocks keep their place after it. */
export function withText(content: readonly Block[], text: string): readonly Block[] {
  const others = content.filter(({ type }) => type !== 'text')
  if (text === '') return others
  // Models see thinking before the text that follows it, and results of tools first.
  const at = others.findLastIndex(({ type }) => isBeforeText(type)) + 1
  return [...others.slice(0, at), { type: 'text', text }, ...others.slice(at)]
}

const isBeforeText = (type: string): boolean => ['thinking', 'redacted_thinking', 'tool_result'].includes(type)

/** Problems of the fields with JSON, by their names. */
export function jsonProblems({ tools, schema, others }: PlaygroundForm) {
  return {
    tools: problemOf(tools, Array.isArray, 'tools are a JSON list'),
    schema: problemOf(schema, isRecord, 'a schema is a JSON object'),
    others: problemOf(others, isRecord, 'other fields are a JSON object'),
  }
}

function problemOf(text: string, isRight: (value: unknown) => boolean, rule: string): string | undefined {
  const { value, problem } = parseJson(text)
  return problem ?? (value === undefined || isRight(value) ? undefined : rule)
}
