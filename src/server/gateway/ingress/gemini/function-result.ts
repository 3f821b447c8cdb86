import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json, listOf, recordOf, textIn } from '../../../platform/json.ts'
import { type Block, resultBlock, textBlocks } from '../content-parts.ts'
import type { Note } from '../settings.ts'
import type { Calls } from './calls.ts'
import { field } from './either-spelling.ts'
import { inlineBlock } from './media-blocks.ts'

interface Place {
  readonly path: string
  readonly calls: Calls
  readonly note: Note
}

/** What a function gave: a result behind its call, or plain text when the conversation does not hold that call. */
export function functionResult(result: Json, { path, calls, note }: Place): readonly Block[] {
  const { id, name, response, parts } = result
  if (typeof name !== 'string' && typeof id !== 'string') throw invalid(`${path}.name must be a string`)
  if (!isAbsent(response) && !isRecord(response)) throw invalid(`${path}.response must be an object`)
  const { text, isError } = said(recordOf(response))
  const content = [...textBlocks(text), ...listOf(parts).flatMap((part, at) => media(part, `${path}.parts.${at}`))]
  const callId = calls.answeredBy(textIn(name), textIn(id))
  if (callId === undefined) {
    note(path, 'approximated')
    return [...textBlocks(`Result of an earlier call of ${textIn(name) ?? 'a tool'}:`), ...content]
  }
  return [{ ...resultBlock(callId, content, `${path}.id`), ...(isError && { is_error: true }) }]
}

/** By Google's rules `output` holds the result and `error` what went wrong; without either, all of it is the result. */
function said(response: Json): { readonly text: string; readonly isError: boolean } {
  const entries = Object.entries(response)
  const [only] = entries
  if (!only || entries.length > 1) return { text: only ? JSON.stringify(response) : '', isError: 'error' in response }
  const [name, value] = only
  const isKnown = name === 'output' || name === 'result' || name === 'error'
  if (!isKnown) return { text: JSON.stringify(response), isError: false }
  return { text: typeof value === 'string' ? value : JSON.stringify(value), isError: name === 'error' }
}

function media(part: unknown, path: string): readonly Block[] {
  const inline = field(recordOf(part), 'inlineData')
  if (!isRecord(inline)) throw invalid(`${path} must have inlineData`)
  return [inlineBlock(inline, `${path}.inlineData`)]
}
