import { invalid } from '../../platform/errors.ts'
import { isAbsent, isRecord, type Json } from '../../platform/json.ts'
import { keysOf, ownMembers } from '../bytes/json-members.ts'
import { checkSize } from '../core/request-checks.ts'

/** Settings of a Responses request about stored and background responses. */
export interface StateRequest {
  readonly previousId: string | undefined
  /** False: the response must not be stored. */
  readonly isStored: boolean
  readonly isBackground: boolean
}

const names = ['previous_response_id', 'store', 'conversation', 'background'] as const
const keys = keysOf(names)
const inputKey = keysOf(['input'])

/** Parses the settings; undefined for a body that is not a JSON object, which the call itself rejects. */
export function readStateRequest(body: Buffer): StateRequest | undefined {
  const members = ownMembers(body, keys)
  if (!members) return undefined
  checkSize(members)
  const [duplicate] = members.duplicates
  if (duplicate !== undefined) throw invalid(`${duplicate} is given twice`)
  const [previous, store, conversation, background] = members.values.map(
    span => span && (JSON.parse(body.toString('utf8', span.start, span.end)) as unknown),
  )
  if (!isAbsent(conversation))
    throw invalid('conversation is not supported; use previous_response_id or send the whole input')
  if (!isAbsent(store) && typeof store !== 'boolean') throw invalid('store must be a boolean')
  if (!isAbsent(previous) && (typeof previous !== 'string' || previous === ''))
    throw invalid('previous_response_id must be a non-empty string')
  if (!isAbsent(background) && typeof background !== 'boolean') throw invalid('background must be a boolean')
  return {
    previousId: isAbsent(previous) ? undefined : String(previous),
    isStored: store !== false,
    isBackground: background === true,
  }
}

/** Returns the input items of a request; a string becomes one message. */
export function inputItems(body: Buffer): readonly Json[] {
  const span = ownMembers(body, inputKey)?.values[0]
  const input: unknown = span && JSON.parse(body.toString('utf8', span.start, span.end))
  if (typeof input === 'string')
    return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
  if (isAbsent(input)) return []
  if (!Array.isArray(input)) throw invalid('input must be a string or an array')
  return input.map((item, at) => {
    if (!isRecord(item)) throw invalid(`input.${at} must be an object`)
    return item
  })
}
