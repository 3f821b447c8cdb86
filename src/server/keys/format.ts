import { createHmac, type KeyObject, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 238 bits. Security: S03 asks for 160. */
const randomLength = 40
const checkLength = 6
const shape = new RegExp(`^sk-[${digits}]{${randomLength + checkLength}}$`)

/** A new virtual key: `sk-`, 40 random letters and digits, 6 of a checksum. */
export function newKey(): string {
  const random = Array.from({ length: randomLength }, () => digits[randomInt(digits.length)]).join('')
  return `sk-${random}${checkOf(random)}`
}

/** True for text that could be a virtual key: only such text is worth a query. */
export function isKey(text: string): boolean {
  return shape.test(text) && checkOf(text.slice(3, -checkLength)) === text.slice(-checkLength)
}

/** What may be shown of a key: the first four of its digits and the last four. */
export const shownParts = (key: string): { prefix: string; last4: string } => ({
  prefix: key.slice(0, 7),
  last4: key.slice(-4),
})

/** What is stored in place of a key. Without the pepper nobody can tell whether a guess is right. */
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
