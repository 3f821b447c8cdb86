import { isRecord, type Json, textOf } from '../../platform/json.ts'
import type { RunPrompt, RunSession } from '../runtime.ts'
import type { Answer } from './answer.ts'
import type { Message } from './context/blocks.ts'
import type { Run } from './run.ts'

/** Instruction to answer with JSON that matches a schema. */
const instructionFor = (schema: Json): string =>
  `The user's program reads your last answer. It has to be one JSON value that fits the JSON Schema below, and nothing else: no words \
around it, no code fence. You may use tools before.\n${JSON.stringify(schema)}`

/** Returns the schema of the run's answer: that of its last prompt with one, else that of the agent. */
export function schemaOf({ config }: RunSession, prompts: readonly RunPrompt[]): Json | undefined {
  const own = prompts.findLast(({ output_schema }) => output_schema !== null)?.output_schema
  return own ?? (isRecord(config['output_schema']) ? config['output_schema'] : undefined)
}

/** Returns the block of the system prompt for a schema; empty for an answer in prose. */
export const schemaWords = (schema: Json | undefined): string => (schema ? instructionFor(schema) : '')

export type Result = { readonly value: unknown } | { readonly problem: string }

/** Returns the JSON value of an answer, or its problem; undefined without a schema or after a refusal of the model. */
export async function resultOf({ schema, deps }: Run, answer: Answer): Promise<Result | undefined> {
  if (!schema || answer.stopReason === 'refusal') return undefined
  const parsed = jsonIn(textOfAnswer(answer))
  if (!parsed) return { problem: answer.stopReason === 'max_tokens' ? 'was truncated at its limit' : 'is not JSON' }
  const problem = await deps.resultSchemas.mismatch(schema, parsed.value)
  return problem === undefined ? parsed : { problem: `does not match the schema: ${problem}` }
}

/** Returns the text of an answer. */
export const textOfAnswer = ({ blocks }: Answer): string =>
  blocks.map(block => (block.type === 'text' ? block.text : '')).join('')

/** Returns the JSON value of an assistant's message in the conversation; undefined when it has none. */
export const resultIn = ({ content }: Message): { readonly value: unknown } | undefined =>
  jsonIn(content.map(block => textOf(block['text'])).join(''))

/** Parses an answer; models often put a code fence around the JSON, or text before it. */
export function jsonIn(text: string): { readonly value: unknown } | undefined {
  const whole = parsed(text)
  if (whole) return whole
  const start = text.indexOf('```')
  const end = text.lastIndexOf('```')
  if (start < 0 || end <= start) return undefined
  return parsed(text.slice(start + 3, end).replace(/^\w*/, ''))
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
