import type { Overrides } from '../config/config.ts'

/** What the parent of `WORKERS` sends to one of its processes. */
export type ToWorker =
  | {
      readonly type: 'start'
      /** Starts at 1; a replacement process gets the number of the process it replaces. */
      readonly number: number
      readonly overrides: Overrides
      /** Also set for the embedded database, which the parent runs. */
      readonly databaseUrl: string
      readonly port: number
      /** True: the log goes to a terminal. */
      readonly isTerminal: boolean
    }
  | { readonly type: 'reload' }
  | {
      readonly type: 'stop'
      readonly serveOnMs: number
      /** Ids of the other processes, which stop as well. */
      readonly siblings: readonly string[]
    }

/** What a process of `WORKERS` sends to its parent. */
export type FromWorker =
  | {
      readonly type: 'listening'
      readonly id: string
      readonly url: string
      readonly sandboxDriver: string
      readonly models: readonly string[]
    }
  | { readonly type: 'failed'; readonly message: string }
