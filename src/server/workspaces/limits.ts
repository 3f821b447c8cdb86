import { createHash } from 'node:crypto'

/** What the checkpoints of a workspace hold at most. What is beyond it is named in the session's log. */
export interface WorkspaceLimits {
  /** Bytes of one file. */
  readonly fileBytes: number
  /** Bytes of all files: the largest are left out first. */
  readonly bytes: number
  /** Files, folders and links. */
  readonly files: number
}

/** A path that a checkpoint does not hold, and why. */
export interface LeftOut {
  readonly path: string
  readonly reason: string
}

/** A piece of a file, as it is stored. */
export const pieceBytes = 1024 * 1024

/** SHA-256 in hexadecimal digits. */
export const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
