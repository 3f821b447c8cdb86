import { boundedOutput } from '../sandboxes/bounded-output.ts'

/** Output of a command that is read in parts. */
export interface UnreadOutput {
  add(chunk: Buffer): void
  /**
   * Returns what was added since the last call. Unless `isComplete`, a character whose bytes have only partly arrived
   * stays for the next call.
   */
  take(isComplete: boolean): string
}

/** Retains at most the first and last half of `limitBytes` between two reads. */
export function unreadOutput(limitBytes: number): UnreadOutput {
  let unread = boundedOutput(limitBytes)
  /** The bytes of an incomplete character at the end. */
  let rest: Buffer = Buffer.alloc(0)
  return {
    add(chunk) {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      const whole = bytes.length - incompleteBytes(bytes)
      unread.add(bytes.subarray(0, whole))
      rest = Buffer.from(bytes.subarray(whole))
    },
    take(isComplete) {
      if (isComplete) {
        unread.add(rest)
        rest = Buffer.alloc(0)
      }
      const text = unread.text()
      unread = boundedOutput(limitBytes)
      return text
    },
  }
}

const maxCharacterBytes = 4

/** Returns the number of bytes at the end that begin a UTF-8 character without completing it. */
function incompleteBytes(bytes: Buffer): number {
  for (let back = 1; back < maxCharacterBytes && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0
    const isContinuation = (byte & 0xc0) === 0x80
    if (!isContinuation) return lengthOf(byte) > back ? back : 0
  }
  return 0
}

/** Returns the length of the character that begins with `byte`. */
function lengthOf(byte: number): number {
  if (byte >= 0xf0 && byte < 0xf8) return 4
  if (byte >= 0xe0 && byte < 0xf0) return 3
  return byte >= 0xc0 && byte < 0xe0 ? 2 : 1
}
