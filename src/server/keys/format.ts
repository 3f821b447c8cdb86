import { createHmac, type KeyObject, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 238 bits. Security: S03 asks for 160. */
const randomLength = 40
const checkLength = 6
const shape = new RegExp(`^sk-[${digits}]{${randomLength + checkLength}}$`)

/** Returns a new virtual key: `sk-`, 40 random letters and digits, 6 characters of a checksum. */
export function newKey(): string {
  const random = Array.from({ length: randomLength }, () => digits[randomInt(digits.length)]).join('')
  return `sk-${random}${checkOf(random)}`
}

/** True if the text has the form and checksum of a virtual key. Other text needs no query. */
export function isKey(text: string): boolean {
  return shape.test(text) && checkOf(text.slice(3, -checkLength)) === text.slice(-checkLength)
}

/** Returns the parts of a key that may be shown: `sk-` with the first four characters, and the last four. */
export const shownParts = (key: string): { prefix: string; last4: string } => ({
  prefix: key.slice(0, 7),
  last4: key.slice(-4),
})

/** Returns the hash to store for a key. Guesses cannot be verified without the pepper. */
export const hashOf = (key: string, pepper: Buffer | KeyObject): Buffer =>
  createHmac('sha256', pepper).update(key).digest()

function checkOf(random: string): string {
  let rest = crc32(random)
  let check = ''
  for (let at = 0; at < checkLength; at++) {
    check = `${digits[rest % digits.length]}${check}`
    rest = Math.floor(rest / digits.length)
  }
  return check
}
