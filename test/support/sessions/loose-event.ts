import type { NewEvent, SessionEvent } from '../../../src/contract/events.ts'

/** The fields of an event that matter to a test. */
export type LooseFields = { readonly type: string; readonly [field: string]: unknown }

/** Returns an event that may lack fields of its type, or have a type that the contract does not list. */
export const looseEvent = (fields: LooseFields): NewEvent => fields as NewEvent

/** Returns such events as a log stores them, numbered from 1. */
export const looseLog = (events: readonly LooseFields[]): SessionEvent[] =>
  events.map((event, at) => ({
    id: `evt_${at + 1}`,
    processed_at: '2026-01-01T00:00:00.000Z',
    seq: at + 1,
    ...event,
  })) as SessionEvent[]
