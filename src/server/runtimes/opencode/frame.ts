import { type Json, jsonOr, nonEmptyText, recordOf, textOf } from '../../platform/json.ts'
import { type PermissionRequest, permissionOf } from './api.ts'

/** An event of an opencode server that concerns a run. */
export type Frame =
  | { readonly kind: 'message'; readonly info: Json }
  | { readonly kind: 'part'; readonly part: Json }
  | { readonly kind: 'delta'; readonly partId: string; readonly text: string }
  | { readonly kind: 'busy' }
  | { readonly kind: 'retry'; readonly message: string }
  | { readonly kind: 'idle' }
  | { readonly kind: 'error'; readonly error: Json }
  | { readonly kind: 'permission'; readonly request: PermissionRequest }
  | { readonly kind: 'replied'; readonly id: string; readonly isAllowed: boolean }
  | { readonly kind: 'question'; readonly id: string }
  | { readonly kind: 'child'; readonly sessionId: string }

/** The sessions of a run. */
export interface Family {
  readonly sessionId: string
  /** Child sessions, whose questions belong to the run. */
  readonly children: ReadonlySet<string>
}

/**
 * Reads one event. Returns undefined for other sessions, for types that do not concern a run, and for data that is not
 * an event. Dialects: section 2.3.
 */
export function readFrame(data: string, family: Family): Frame | undefined {
  const event = recordOf(jsonOr(data, undefined))
  const { type } = event
  const properties = recordOf(event['properties'])
  const of = sessionOf(properties)
  const isOurs = of === family.sessionId
  const isOfFamily = (id: string) => id === family.sessionId || family.children.has(id)
  if (type === 'session.created') {
    const { id, parentID } = recordOf(properties['info'])
    return isOfFamily(textOf(parentID)) ? { kind: 'child', sessionId: textOf(id) } : undefined
  }
  const question = isOfFamily(of) ? questionIn(textOf(type), properties) : undefined
  return question ?? (isOurs ? progressIn(textOf(type), properties) : undefined)
}

const sessionOf = ({ sessionID, part, info }: Json): string =>
  nonEmptyText(sessionID) ?? nonEmptyText(recordOf(part)['sessionID']) ?? textOf(recordOf(info)['sessionID'])

function questionIn(type: string, properties: Json): Frame | undefined {
  switch (type) {
    case 'permission.asked':
    case 'permission.updated': {
      const request = permissionOf(properties)
      return request && { kind: 'permission', request }
    }
    case 'permission.replied':
      return {
        kind: 'replied',
        id: textOf(properties['requestID'] ?? properties['permissionID']),
        isAllowed: (properties['reply'] ?? properties['response']) !== 'reject',
      }
    case 'question.asked':
      return { kind: 'question', id: textOf(properties['id']) }
    default:
      return undefined
  }
}

function progressIn(type: string, properties: Json): Frame | undefined {
  switch (type) {
    case 'message.updated':
      return { kind: 'message', info: recordOf(properties['info']) }
    case 'message.part.updated':
      return { kind: 'part', part: recordOf(properties['part']) }
    case 'message.part.delta':
      if (properties['field'] !== 'text') return undefined
      return { kind: 'delta', partId: textOf(properties['partID']), text: textOf(properties['delta']) }
    case 'session.status':
      return statusIn(recordOf(properties['status']))
    case 'session.idle':
      return { kind: 'idle' }
    case 'session.error':
      return { kind: 'error', error: recordOf(properties['error']) }
    default:
      return undefined
  }
}

function statusIn({ type, message }: Json): Frame | undefined {
  if (type === 'busy' || type === 'idle') return { kind: type }
  return type === 'retry' ? { kind: 'retry', message: textOf(message) } : undefined
}
