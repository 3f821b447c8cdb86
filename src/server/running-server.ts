export interface StopOptions {
  /** How long to serve requests after readiness has turned to 503, so that load balancers notice. */
  readonly serveOnMs?: number
  /** Ids of processes that stop as well, so clients cannot move to them. */
  readonly siblings?: readonly string[]
}

/** A server that accepts requests. */
export interface RunningServer {
  readonly url: string
  readonly database: 'embedded' | 'external'
  readonly sandboxDriver: string
  readonly models: readonly string[]
  /** Processes that serve at `url`. */
  readonly workers: number
  /** Aborts when the server cannot continue; the reason is an error. Stop the server and exit the process then. */
  readonly lost: AbortSignal
  /** Reloads the configuration file; does nothing without one. */
  reload(): void
  /** Stops gracefully within 30 s: finishes requests, hands sessions over, and stores everything acknowledged. */
  stop(options?: StopOptions): Promise<void>
}
