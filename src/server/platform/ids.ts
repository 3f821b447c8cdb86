import { randomFillSync } from 'node:crypto'

export type IdPrefix =
  | 'agent'
  | 'skill'
  | 'ses'
  | 'evt'
  | 'msg'
  | 'run'
  | 'outc'
  | 'req'
  | 'use'
  | 'aud'
  | 'key'
  | 'dep'
  | 'sch'
  | 'srun'
  | 'whe'
  | 'whs'
  | 'whd'
  | 'rpl'
  | 'mem'
  | 'del'
  | 'env'
  | 'slice'
  | 'chk'
  | 'freeze'
  | 'mcp'
  | 'mcall'
  | 'push'
  | 'user'
  | 'team'
  | 'vlt'
  | 'memstore'
  | 'memver'
  | 'sesrsc'
  | 'vcrd'
  | 'file'
  | 'batch'
  | 'msgbatch'
  | 'dset'
  | 'case'
  | 'exp'
  | 'depl'
  | 'drun'

const hexOf = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const hexOfNibble = Array.from({ length: 16 }, (_, nibble) => nibble.toString(16))

let lastMs = 0
let lastMsHex = ''

/**
 * Returns twelve hex digits. Cached, because many ids share a millisecond and its digits are the most expensive part.
 */
function hexOfMs(milliseconds: number): string {
  if (milliseconds !== lastMs) {
    lastMs = milliseconds
    lastMsHex = milliseconds.toString(16).padStart(12, '0')
  }
  return lastMsHex
}

const randomBytes = 8
/** Module state without meaning for callers: random bytes, and the digits of the last millisecond above. */
const supply = Buffer.alloc(512 * randomBytes)
let supplyAt = supply.length

/**
 * Returns sixteen hex digits, the first with the UUID variant. Random bytes are drawn for many ids at once for speed.
 */
function randomHex(): string {
  if (supplyAt === supply.length) {
    randomFillSync(supply)
    supplyAt = 0
  }
  supply[supplyAt] = ((supply[supplyAt] ?? 0) & 0x3f) | 0x80
  const end = supplyAt + randomBytes
  const digits = supply.toString('hex', supplyAt, end)

  supplyAt = end
  return digits
}

/**
 * Returns `prefix_` and a UUIDv7 in hex, ordered by time with a resolution of a quarter of a microsecond within one
 * process. Source: RFC 9562, section 6.2, method 3 (the fraction of the clock replaces the first random bits).
 */
export function newId(prefix: IdPrefix): string {
  const now = performance.timeOrigin + performance.now()
  const milliseconds = Math.floor(now)
  const fraction = Math.floor((now - milliseconds) * 4096)
  return `${prefix}_${hexOfMs(milliseconds)}7${hexOf[fraction >> 4]}${hexOfNibble[fraction & 15]}${randomHex()}`
}
