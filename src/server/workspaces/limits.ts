import { createHash } from 'node:crypto'

/** Limits of a workspace's checkpoints. Files beyond them are listed in the session's log. */
export interface WorkspaceLimits {
  /** Bytes of one file. */
  readonly fileBytes: number
  /** Bytes of all files; the largest are left out first. */
  readonly bytes: number
  /** Number of files, folders and links. */
  readonly files: number
}

/** A path that a checkpoint does not include, and why. */
export interface LeftOut {
  readonly path: string
  readonly reason: string
}

/** Maximum size of a stored piece of a file. */
export const pieceBytes = 1024 * 1024

/** Returns the SHA-256 in hexadecimal digits. */
export const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
