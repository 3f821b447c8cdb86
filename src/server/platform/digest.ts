import { hash } from 'node:crypto'

/**
 * The SHA-256 of a text, for comparing in constant time. As text in between: Node makes that three times as fast as a
 * buffer.
 */
export const digestOf = (text: string): Buffer => Buffer.from(hash('sha256', text, 'binary'), 'binary')
