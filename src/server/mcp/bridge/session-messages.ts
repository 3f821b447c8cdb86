import { randomBytes } from 'node:crypto'
import type { Notifications } from '../../db/notifications.ts'
import { createValueCipher, DecryptionError, type Keyring } from '../../platform/encryption.ts'
import { AppError } from '../../platform/errors.ts'
import { type Json, jsonOr, recordOf } from '../../platform/json.ts'
import { Recent } from '../../platform/recent.ts'

interface Deps {
  readonly notifications: Pick<Notifications, 'on' | 'send'>
  readonly keyring: Keyring
}

const channel = 'switchyard_mcp_session'
/** Characters of one hint, below the limit of a notification. */
const partLength = 7_500
const maxParts = 64
/** Messages of which some parts have arrived. */
const maxPartial = 100

/**
 * Messages between processes about bridged sessions: a client may send an answer, a cancellation or a setting to another
 * process than that of its call. They are encrypted, since they pass through the database, and reach this process too.
 */
export type SessionMessages = ReturnType<typeof createSessionMessages>

export function createSessionMessages({ notifications, keyring }: Deps) {
  const cipher = createValueCipher(keyring, 'MCP session message')
  const partial = new Recent<Map<number, string>>(maxPartial)

  /** Returns a whole message once its last part is here. */
  function assembled(hint: string): Json | undefined {
    const [id = '', at, count, part = ''] = hint.split('.')
    const parts = partial.get(id) ?? new Map<number, string>()
    parts.set(Number(at), part)
    partial.set(id, parts)
    if (parts.size < Number(count)) return undefined
    const text = Array.from({ length: parts.size }, (_, index) => parts.get(index) ?? '').join('')
    parts.clear()
    try {
      return recordOf(jsonOr(cipher.decrypt(Buffer.from(text, 'base64url'), []).toString(), undefined))
    } catch (error) {
      // Other users of the database can send notifications too.
      if (error instanceof DecryptionError) return undefined
      throw error
    }
  }

  return {
    /** Calls `listener` with the messages of all processes. */
    on: (listener: (message: Json) => void): void =>
      notifications.on(channel, hint => {
        const message = assembled(hint)
        if (message) listener(message)
      }),

    /** Sends a message to all processes. Throws `payload_too_large`. */
    send(message: Json): void {
      const text = cipher.encrypt(JSON.stringify(message), []).sealed.toString('base64url')
      const count = Math.ceil(text.length / partLength)
      if (count > maxParts)
        throw new AppError(
          'payload_too_large',
          `message is too large to reach the process of the session (maximum ${(maxParts * partLength * 3) / 4} bytes)`,
        )
      const id = randomBytes(12).toString('base64url')
      for (let at = 0; at < count; at++)
        notifications.send(channel, `${id}.${at}.${count}.${text.slice(at * partLength, (at + 1) * partLength)}`)
    },
  }
}
