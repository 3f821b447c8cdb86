import { randomFillSync } from 'node:crypto'

export type IdPrefix = 'agent' | 'ses' | 'evt' | 'msg' | 'run' | 'req' | 'use'

const random = Buffer.alloc(10)

/** `prefix_` and a time-ordered UUIDv7 in hex. Source: RFC 9562, section 5.7. */
export function newId(prefix: IdPrefix): string {
  randomFillSync(random)
  random[0] = ((random[0] ?? 0) & 0x0f) | 0x70
  random[2] = ((random[2] ?? 0) & 0x3f) | 0x80
  return `${prefix}_${Date.now().toString(16).padStart(12, '0')}${random.toString('hex')}`
}
