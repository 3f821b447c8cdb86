import { createHash } from 'node:crypto'

/** What both sides accept: Anthropic's alphabet, and the length that the Responses API takes back. */
const legal = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * The id of a tool call as both sides take it. Equal ids stay equal in every turn and on every replica: one that does
 * not fit becomes its digest.
 */
export const callIdOf = (id: string): string =>
  legal.test(id) ? id : `call_${createHash('sha256').update(id).digest('base64url')}`
