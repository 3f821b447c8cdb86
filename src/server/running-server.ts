export interface StopOptions {
  /** How long to go on serving after readiness has turned to 503, so that load balancers notice. */
  readonly serveOnMs?: number
  /** Ids of processes that stop as well: nobody can go on to them. */
  readonly siblings?: readonly string[]
}

/** A server that answers. */
export interface RunningServer {
  readonly url: string
  readonly database: 'embedded' | 'external'
  readonly sandboxDriver: string
  readonly models: readonly string[]
  /** Processes that serve at `url`. */
  readonly workers: number
  /** Aborts when the server cannot go on; its reason is an error that says why. Stop it and end the process then. */
  readonly lost: AbortSignal
  /** Reads the configuration file again now. Nothing happens without one. */
  reload(): void
  /** Stops cleanly within 30 s: requests finish, sessions are handed over, everything acknowledged is stored. */
  stop(options?: StopOptions): Promise<void>
}
